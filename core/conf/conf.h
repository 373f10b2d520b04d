/* cellpost.conf: an INI file (read by inih), checked against one table of keys.
 *
 * Unknown sections and keys, values of the wrong type and values out of range
 * are refused with the file, the line and what would be right. Every key has a
 * default, so an empty file is a valid configuration. The table is in
 * conf_table.c; `cellpost config` prints it with the values in force
 * (conf_describe), and the manual's reference is made from it.
 *
 *   # a comment, on a line of its own (";" begins one too)
 *   [section]
 *   key = value
 *
 * Keys are named as the fields below. The white space around a value is not
 * part of it. A line has at most CONF_LINE bytes; there are no continuation
 * lines. A key may be there once. Sizes are bytes or 64K, 10M, 1G (powers of
 * 1024); durations are seconds (2.5) or 500ms, 30s, 5m, 1h, 2d; switches are
 * on/off, true/false or yes/no. Paths are absolute. */
#ifndef CELLPOST_CONF_CONF_H
#define CELLPOST_CONF_CONF_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/conf/conf_settings.h"

#define CONF_LINE 8192 /* bytes of one line, without its end */

/* Reads `path` over the defaults; NULL path: defaults alone. On success *ret
 * belongs to the caller (conf_free). ERR_INVALID: "FILE:LINE: …" (the first
 * fault of the file). ERR_NOT_FOUND, ERR_DENIED, ERR_IO: the file cannot be
 * read. ERR_TOO_LARGE: it is over BUF_SMALL. Not for two threads at once (inih
 * is set up by global variables). */
int conf_load(const char *path, struct conf **ret, struct err *err);

/* The same from memory; `name` stands for the file in errors. */
int conf_parse(const char *text, size_t length, const char *name,
               struct conf **ret, struct err *err);

void conf_free(struct conf *conf);
void conf_done(struct conf **conf);

/* The reference: every key with section, type, range, default, meaning and the
 * value in force, in the syntax of the file itself. */
int conf_describe(const struct conf *conf, struct buf *out);

#endif
