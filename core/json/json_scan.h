/* The tokens of a JSON text, as RFC 8259 spells them and nothing else.
 *
 * This is the lower half of json_parse (json_parse.c is the upper one: how
 * tokens may follow each other). Here is what one token may look like:
 * UTF-8, escapes, surrogate pairs, numbers. A string in which nothing has to
 * be decoded is not copied. */
#ifndef CELLPOST_JSON_JSON_SCAN_H
#define CELLPOST_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"

enum json_token {
  JSON_TOKEN_END, /* nothing but white space was left */
  JSON_TOKEN_OPEN_OBJECT,
  JSON_TOKEN_CLOSE_OBJECT,
  JSON_TOKEN_OPEN_ARRAY,
  JSON_TOKEN_CLOSE_ARRAY,
  JSON_TOKEN_COLON,
  JSON_TOKEN_COMMA,
  JSON_TOKEN_NULL,
  JSON_TOKEN_TRUE,
  JSON_TOKEN_FALSE,
  JSON_TOKEN_STRING,
  JSON_TOKEN_INTEGER, /* fits int64_t */
  JSON_TOKEN_NUMBER,  /* any other number, of at most
                         JSON_SCAN_DIGITS digits when it is whole; a longer
                         one is a JSON_TOKEN_STRING that says so */
};

/* Python, for one, refuses to read whole numbers of more digits
 * (sys.int_info.default_max_str_digits). */
#define JSON_SCAN_DIGITS 4300

struct json_scan {
  const char *text; /* borrowed for as long as the scanner lives */
  size_t length;
  bool tolerant; /* as in struct json_rules */

  size_t offset; /* where the next token is looked for */
  size_t start;  /* where the last token begins */
  /* The decoded string (valid UTF-8, may hold NULs) or the digits of a number;
   * not terminated, valid until the next call. */
  const char *bytes;
  size_t bytes_length;
  int64_t integer;
  struct buf scratch; /* strings that had to be decoded */
};

void json_scan_open(struct json_scan *scan, const char *text, size_t length,
                    bool tolerant);
void json_scan_close(struct json_scan *scan);

/* Reads the next token: an enum json_token, or -1 with the fault in *err. */
int json_scan_next(struct json_scan *scan, struct err *err);

/* Faults of what has just been read: something else is there than `what`
 * (unless the scanner has said so already); it is a string that is too long for
 * a value. Always -1. */
int json_scan_expected(const struct json_scan *scan, int token,
                       const char *what, struct err *err);
int json_scan_too_long(const struct json_scan *scan, struct err *err);

/* How many bytes at the start of `text` may be as they are between the
 * quotes of a JSON string: ends before a quote, a backslash, a control
 * character or invalid UTF-8. */
size_t json_clean_run(const char *text, size_t length);

#endif
