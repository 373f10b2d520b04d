/* Terminal control (ECMA-48) out of a text. Pure. */
#ifndef CELLPOST_TEXT_ANSI_H
#define CELLPOST_TEXT_ANSI_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the text without escape sequences (CSI, OSC, two-byte) and without
 * other control bytes except \n and \t. */
int ansi_strip(const char *text, size_t length, struct buf *out);

#endif
