/* The tokens of a JSON text, as RFC 8259 spells them and nothing else.
 *
 * This is the lower half of json_parse (json_parse.c is the upper one: how
 * tokens may follow each other). Here stands what one token may look like:
 * UTF-8, escapes, surrogate pairs, numbers. A string in which nothing has to
 * be decoded is not copied. */
#ifndef CELLPOST_JSON_JSON_SCAN_H
#define CELLPOST_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
  JSON_TOKEN_NUMBER,  /* any other number */
};

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

/* How many bytes at the start of `text` may stand as they are between the
 * quotes of a JSON string: ends before a quote, a backslash, a control
 * character or invalid UTF-8. */
size_t json_clean_run(const char *text, size_t length);

/* Is there a byte among these eight that is a quote, a backslash, a control
 * character or not ASCII? */
static inline bool json_word_is_special(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  uint64_t quote = word ^ (ones * '"');
  uint64_t backslash = word ^ (ones * '\\');
  uint64_t below_space = (word - ones * 0x20) & ~word;
  uint64_t is_quote = (quote - ones) & ~quote;
  uint64_t is_backslash = (backslash - ones) & ~backslash;
  uint64_t found = word | below_space | is_quote | is_backslash;
  return (found & (ones * 0x80)) != 0;
}

static inline bool json_byte_is_special(char byte) {
  unsigned char value = (unsigned char)byte;
  return value < 0x20 || value >= 0x80 || value == '"' || value == '\\';
}

/* How many bytes at the start of `text` stand for themselves in a JSON string
 * and are ASCII. Eight at a time, because cells print megabytes. */
static inline size_t json_plain_run(const char *text, size_t length) {
  size_t run = 0;
  while (length - run >= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, text + run, sizeof word);
    if (json_word_is_special(word))
      break;
    run += sizeof word;
  }
  while (run < length && !json_byte_is_special(text[run]))
    run++;
  return run;
}

#endif
