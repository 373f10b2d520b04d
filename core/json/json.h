/* The one door to json-c.
 *
 * A value is a `struct json *`; NULL is the JSON null. Values are reference
 * counted and not shared between threads at the same time. Objects keep the
 * order of insertion.
 *
 * json-c holds the values; its parser and its printer are not used. The parser
 * (0.16) accepts raw control characters, single-quoted keys, `1.`, overlong
 * UTF-8, cuts keys at \u0000 and saturates integers beyond 64 bits; the printer
 * writes NaN and invalid UTF-8. Ours is a strict RFC 8259 scanner (json_scan.c)
 * with the grammar on top (json_parse.c). Numbers that are no 64-bit integers
 * keep their digits and are written back as they came; whole ones of more than
 * 4,300 digits become text that says so. Writing (json_write.c) never yields
 * NaN or Infinity (they become null) and never invalid UTF-8 (U+FFFD takes its
 * place). */
#ifndef CELLPOST_JSON_JSON_H
#define CELLPOST_JSON_JSON_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"

struct json;

enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_INTEGER, /* fits int64_t */
  JSON_NUMBER,  /* any other number, also 1.0, 1e3 and -0 */
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT,
};

/* How a text from outside is treated. A text that is too long, or whose values
 * would take too much memory, is an ERR_TOO_LARGE. */
struct json_rules {
  size_t max_bytes;
  unsigned max_depth; /* nesting of arrays and objects */
  /* false: any fault is an ERR_INVALID that names the byte offset; a NUL in a
   * key, which is JSON, an ERR_FIELD.
   * true (kernels): invalid UTF-8 and lone surrogate escapes become U+FFFD,
   * NaN, Infinity and -Infinity become those words as strings, a NUL in a key
   * becomes U+FFFD; only broken grammar, size and depth are errors. */
  bool tolerant;
  /* Arrays and objects at this depth (1: the outermost) stay text until
   * somebody looks into them: nobody looks into most, and "{}" takes 800 bytes
   * as a value. A NUL in a key lives until then; of a key that is there twice
   * the last one counts, also in strict mode. 0: all become values. */
  unsigned raw_depth;
  /* What the values may take in memory beside their text, in bytes, by a rough
   * but generous count. 0: no limit. */
  size_t max_memory;
};
extern const struct json_rules JSON_RULES_REQUEST;  /* 64 MiB, depth 64 */
extern const struct json_rules JSON_RULES_KERNEL;   /* 512 MiB, 512, tolerant */
extern const struct json_rules JSON_RULES_NOTEBOOK; /* 2 GiB, 512, tolerant */
extern const struct json_rules
    JSON_RULES_STORE; /* our own text: 512 MiB, 600 */

/* Parses one JSON text (any kind of value at the top). Duplicate keys: strict
 * mode refuses, tolerant keeps the last. On success *ret is the caller's. */
int json_parse(const char *text, size_t length, const struct json_rules *rules,
               struct json **ret, struct err *err);

/* json-c counts the bytes of a string in an int, and adds a header. A longer
 * text is an ERR_TOO_LARGE in json_parse; json_string_n must not get one. */
#define JSON_STRING_MOST ((size_t)INT_MAX - 1024)

/* Making values; each result belongs to the caller. Strings are repaired when
 * they are not valid UTF-8. json_string(NULL) is null. */
struct json *json_object(void);
struct json *json_array(void);
struct json *json_string(const char *text);
struct json *json_string_n(const char *text, size_t length);
/* For bytes that are known to be valid UTF-8: not looked at again. */
struct json *json_string_valid(const char *text, size_t length);
struct json *json_integer(int64_t value);
struct json *json_number(double value); /* null when not finite */
struct json *json_boolean(bool value);
/* A number with digits of its own, which must follow JSON's grammar. */
struct json *json_number_text(const char *digits, size_t length);

/* Another reference to the same value; a deep copy. */
struct json *json_share(const struct json *value);
struct json *json_copy(const struct json *value);

/* Drops one reference. json_done is the cleanup form. */
void json_free(struct json *value);
void json_done(struct json **value);

/* json_set and json_push take the reference to `value`. Setting an existing
 * key replaces it in place. Into something that is not an object (an array)
 * nothing is put, and `value` is released: the container may come from a
 * kernel, which must not be able to end the process. */
void json_set(struct json *object, const char *key, struct json *value);
void json_set_text(struct json *object, const char *key, const char *text);
void json_set_integer(struct json *object, const char *key, int64_t value);
void json_set_boolean(struct json *object, const char *key, bool value);
/* RFC 3339, as clock_format_iso writes it; null for the time 0. */
void json_set_time(struct json *object, const char *key, int64_t wall_us);
void json_remove(struct json *object, const char *key);
void json_push(struct json *array, struct json *value);
/* Replaces element `index` (must exist); takes the reference. */
void json_replace_at(struct json *array, size_t index, struct json *value);
/* Removes `count` elements from `index` on. */
void json_remove_at(struct json *array, size_t index, size_t count);

/* Looking: every result is borrowed and lives as long as its container. All
 * accept NULL and the wrong kind and then give NULL, 0, false or `otherwise`.
 */
enum json_kind json_kind(const struct json *value);
struct json *json_get(const struct json *object, const char *key);
bool json_has(const struct json *object, const char *key);
struct json *json_at(const struct json *array, size_t index);
size_t json_length(const struct json *value);      /* array or object members */
const char *json_text(const struct json *value);   /* NULL unless a string */
size_t json_text_length(const struct json *value); /* bytes; may hold NULs */
/* Only a JSON_INTEGER is an integer: 1.0 and 1e3 give `otherwise`. */
int64_t json_as_integer(const struct json *value, int64_t otherwise);
/* Any number; beyond the range of double it is HUGE_VAL or -HUGE_VAL. */
double json_as_number(const struct json *value, double otherwise);
bool json_as_boolean(const struct json *value, bool otherwise);
/* The digits of a JSON_NUMBER that was parsed, else NULL. */
const char *json_digits(const struct json *value);
/* json_text(json_get(object, key)) and friends. */
const char *json_get_text(const struct json *object, const char *key);
int64_t json_get_integer(const struct json *object, const char *key,
                         int64_t otherwise);

/* Walks an object: returns false at the end. *state starts as NULL. The object
 * must not gain or lose keys meanwhile. */
bool json_next(const struct json *object, void **state, const char **key,
               struct json **value);

/* Objects are equal whatever the order of their keys; numbers when they are of
 * the same kind and written alike (1 and 1.0 differ). */
bool json_equal(const struct json *a, const struct json *b);

/* Writing. Compact: no white space, "/" not escaped, non-ASCII as is.
 * Notebook: as Python's json.dumps(indent=1, separators=(",", ": "),
 * ensure_ascii=False) writes it, keys sorted by code point when `sort` is set;
 * `depth` is the indentation level of the value's own first line (which is not
 * indented itself). -1 only when `out` is full; its content is then what it
 * was before. */
int json_write(const struct json *value, struct buf *out);
int json_write_indented(const struct json *value, bool sort, unsigned depth,
                        struct buf *out);

/* Compact, keys sorted by code point: equal values are written alike. */
int json_write_sorted(const struct json *value, struct buf *out);

/* Appends one JSON string literal with its quotes (invalid UTF-8 repaired). */
int json_write_string(const char *text, size_t length, struct buf *out);

#endif
