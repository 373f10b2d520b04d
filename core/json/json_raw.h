/* Arrays and objects that stay text until somebody looks inside. Private to the
 * json*.c files.
 *
 * "{}" takes two bytes as text and hundreds as a value. Most of what a kernel
 * sends in depth is passed on and never looked into, so json_parse leaves it as
 * compact text beneath a certain depth (struct json_rules), held by an empty
 * container. The first look fills that container, one level deep. */
#ifndef CELLPOST_JSON_JSON_RAW_H
#define CELLPOST_JSON_JSON_RAW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/json_scan.h"

struct json;

/* An object without members takes a quarter of what json-c sets aside for
 * sixteen; it still grows when members come. */
struct json *json_object_small(void);

/* A container with the text that its content has; the caller's. */
struct json *json_raw_new(const char *text, size_t length);

/* The text of a container that nobody has looked into; else NULL. */
const char *json_raw(const struct json *value, size_t *length);

/* Parses such a text, one level deep. It was checked when it was made. */
struct json *json_raw_parse(const char *text, size_t length);

struct json_style {
  bool indented; /* as nbformat writes, else compact */
  bool sort;     /* keys by code point */
};

/* What comes between two items, and before and after them. */
void json_write_break(const struct json_style *style, unsigned depth,
                      struct buf *out);

/* Appends the value that starts with `token`, which `scan` has just read, and
 * reads to its end. Of a key that is there twice the last value is kept, at the
 * place of the first. `depth` is the indentation level; arrays and objects are
 * nested `levels` deep at most. ERR_INVALID; ERR_TOO_LARGE: `out` is full. */
int json_transcode(struct json_scan *scan, int token,
                   const struct json_style *style, unsigned depth,
                   unsigned levels, struct buf *out, struct err *err);

#endif
