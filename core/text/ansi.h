/* Control functions in text (ECMA-48, 5th edition; OSC as xterm has it):
 * colours, cursor movements, window titles, links. Pure. */
#ifndef CELLPOST_TEXT_ANSI_H
#define CELLPOST_TEXT_ANSI_H

#include <stddef.h>

#include "core/base/buf.h"

struct ansi_sequence {
  /* With the introducer. Of a broken sequence: the bytes that are no text. */
  size_t length;
  /* The final byte of a control sequence (CSI); 0 for any other sequence, and
   * for those with private parameters or intermediate bytes: all without an
   * effect on the text. */
  char final;
  const char *parameters; /* into the text */
  size_t parameters_length;
  size_t number; /* the first parameter; 0 when left out */
};

enum ansi_kind {
  ANSI_BROKEN,     /* no sequence: a terminal ignores the introducer */
  ANSI_INCOMPLETE, /* more bytes are needed; length is all there is */
  ANSI_COMPLETE,
};

/* Reads the sequence at the start of the text, whose first character is ESC or
 * a C1 control in UTF-8 (U+0080 to U+009F). Never INCOMPLETE for a text of 2048
 * bytes or more. */
enum ansi_kind ansi_read(const char *text, size_t length,
                         struct ansi_sequence *ret);

/* Appends the text without control sequences and without control characters,
 * \n and \t excepted. Of a broken sequence the introducer goes; one that the
 * end cuts off goes as a whole. */
int ansi_strip(const char *text, size_t length, struct buf *out);

#endif
