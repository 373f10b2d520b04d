/* Names of files as programs written for E2B give them. Pure. */
#ifndef CELLPOST_FCGI_E2B_E2B_PATH_H
#define CELLPOST_FCGI_E2B_E2B_PATH_H

#include "core/base/buf.h"
#include "core/base/err.h"

#define E2B_HOME "/home/user" /* what they call the workspace */

/* The path beneath the workspace ("" is the workspace itself), from one that is
 * relative to it or begins with one of its names (/home/user, /mnt/data,
 * /work).
 * "." and empty parts are left out. ERR_NOT_FOUND: it is elsewhere, or climbs
 * by "..". `relative` is appended to. */
int e2b_path_read(const char *path, struct buf *relative, struct err *err);

#endif
