#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "core/json/json_raw.h"
#include "core/json/json_scan.h"

struct writer {
  struct buf *out;
  struct json_style style;
};

static int write_value(const struct writer *writer, const struct json *value,
                       unsigned depth);

/* The escape of a byte that may not be in a string as it is, as Python chooses.
 */
static int write_escape(unsigned char byte, struct buf *out) {
  static const char letters[256] = {
      ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
  static const char hex[] = "0123456789abcdef";
  if (letters[byte] != '\0')
    return buf_append(out, (char[]){'\\', letters[byte]}, 2);
  char escape[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
  return buf_append(out, escape, sizeof escape);
}

/* Writes what json_clean_run stopped at; returns how much of the text that
 * was. When `out` is full it remembers that itself. */
static size_t write_special(const char *text, size_t length, struct buf *out) {
  bool valid;
  size_t step = utf8_step(text, length, &valid);
  if (valid)
    write_escape((unsigned char)text[0], out);
  else
    buf_text(out, UTF8_REPLACEMENT);
  return step;
}

static void append_string(const char *text, size_t length, struct buf *out) {
  buf_byte(out, '"');
  while (length > 0 && !out->overflowed) {
    size_t run = json_clean_run(text, length);
    buf_append(out, text, run);
    if (run < length)
      run += write_special(text + run, length - run, out);
    text += run;
    length -= run;
  }
  buf_byte(out, '"');
}

static int write_integer(int64_t value, struct buf *out) {
  char digits[24];
  char *end = digits + sizeof digits, *at = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0)
    *--at = '-';
  return buf_append(out, at, (size_t)(end - at));
}

/* The shortest digits that give the same double again, as d.ddde[+-]dd. */
static void shortest_digits(double value, char text[static 32]) {
  for (int precision = 0; precision <= 16; precision++) {
    snprintf(text, 32, "%.*e", precision, value);
    if (strtod(text, NULL) == value)
      return;
  }
}

/* As Python's repr: 0.1, 1.0, 1e-05, 1e+16. The point moves out of the
 * exponent when that lies within -4..15. */
static int write_double(double value, struct buf *out) {
  char text[32];
  shortest_digits(value, text);
  char *mark = strchr(text, 'e');
  long exponent = strtol(mark + 1, NULL, 10);
  if (exponent < -4 || exponent > 15)
    return buf_text(out, text);
  long digits = 0;
  for (const char *at = text; at < mark; at++)
    digits += *at >= '0' && *at <= '9';
  long decimals = digits - 1 - exponent;
  return buf_format(out, "%.*f", (int)(decimals < 1 ? 1 : decimals), value);
}

static int write_number(const struct json *value, struct buf *out) {
  const char *digits = json_digits(value);
  return digits != NULL ? buf_text(out, digits)
                        : write_double(json_as_number(value, 0), out);
}

void json_write_break(const struct json_style *style, unsigned depth,
                      struct buf *out) {
  if (!style->indented)
    return;
  char *spaces = buf_reserve(out, (size_t)depth + 1);
  if (spaces == NULL)
    return;
  spaces[0] = '\n';
  memset(spaces + 1, ' ', depth);
  spaces[depth + 1] = '\0';
  out->length += (size_t)depth + 1;
}

static void write_break(const struct writer *writer, unsigned depth) {
  json_write_break(&writer->style, depth, writer->out);
}

static int write_array(const struct writer *writer, const struct json *array,
                       unsigned depth) {
  size_t length = json_length(array);
  if (length == 0)
    return buf_text(writer->out, "[]");
  for (size_t i = 0; i < length && !writer->out->overflowed; i++) {
    buf_byte(writer->out, i == 0 ? '[' : ',');
    write_break(writer, depth + 1);
    write_value(writer, json_at(array, i), depth + 1);
  }
  write_break(writer, depth);
  return buf_byte(writer->out, ']');
}

struct member {
  const char *key;
  struct json *value;
};

/* strcmp compares as unsigned bytes, and UTF-8 sorts as its code points do. */
static int compare_keys(const void *a, const void *b) {
  const struct member *left = a, *right = b;
  return strcmp(left->key, right->key);
}

static void write_member(const struct writer *writer,
                         const struct member *member, bool first,
                         unsigned depth) {
  buf_byte(writer->out, first ? '{' : ',');
  write_break(writer, depth + 1);
  append_string(member->key, strlen(member->key), writer->out);
  buf_append(writer->out, ": ", writer->style.indented ? 2 : 1);
  write_value(writer, member->value, depth + 1);
}

static void write_members_sorted(const struct writer *writer,
                                 const struct json *object, unsigned depth) {
  size_t length = json_length(object);
  CLEANUP(mem_free_pointer)
  struct member *members = mem_array(length, sizeof *members);
  void *state = NULL;
  for (size_t i = 0; i < length; i++)
    json_next(object, &state, &members[i].key, &members[i].value);
  qsort(members, length, sizeof *members, compare_keys);
  for (size_t i = 0; i < length && !writer->out->overflowed; i++)
    write_member(writer, &members[i], i == 0, depth);
}

static void write_members(const struct writer *writer,
                          const struct json *object, unsigned depth) {
  struct member member;
  void *state = NULL;
  bool first = true;
  while (!writer->out->overflowed &&
         json_next(object, &state, &member.key, &member.value)) {
    write_member(writer, &member, first, depth);
    first = false;
  }
}

static int write_object(const struct writer *writer, const struct json *object,
                        unsigned depth) {
  if (json_length(object) == 0)
    return buf_text(writer->out, "{}");
  if (writer->style.sort)
    write_members_sorted(writer, object, depth);
  else
    write_members(writer, object, depth);
  write_break(writer, depth);
  return buf_byte(writer->out, '}');
}

/* A container that is still text. */
static void write_raw(const struct writer *writer, const char *text,
                      size_t length, unsigned depth) {
  if (!writer->style.indented && !writer->style.sort) {
    buf_append(writer->out, text, length);
    return;
  }
  struct json_scan scan;
  json_scan_open(&scan, text, length, true);
  json_transcode(&scan, json_scan_next(&scan, NULL), &writer->style, depth,
                 UINT_MAX, writer->out, NULL);
  json_scan_close(&scan);
}

static int write_value(const struct writer *writer, const struct json *value,
                       unsigned depth) {
  size_t length;
  const char *raw = json_raw(value, &length);
  if (raw != NULL) {
    write_raw(writer, raw, length, depth);
    return 0;
  }
  switch (json_kind(value)) {
  case JSON_BOOL:
    return buf_text(writer->out,
                    json_as_boolean(value, false) ? "true" : "false");
  case JSON_INTEGER:
    return write_integer(json_as_integer(value, 0), writer->out);
  case JSON_NUMBER:
    return write_number(value, writer->out);
  case JSON_STRING:
    append_string(json_text(value), json_text_length(value), writer->out);
    return 0;
  case JSON_ARRAY:
    return write_array(writer, value, depth);
  case JSON_OBJECT:
    return write_object(writer, value, depth);
  case JSON_NULL:
  default:
    return buf_text(writer->out, "null");
  }
}

/* Appends are not checked one by one: a full buffer keeps its `overflowed`. */
static int finish(struct buf *out, size_t before, bool was_full) {
  bool full = out->overflowed;
  out->overflowed = full || was_full;
  if (!full)
    return 0;
  buf_truncate(out, before);
  return -1;
}

static int write_all(const struct writer *writer, const struct json *value,
                     unsigned depth) {
  struct buf *out = writer->out;
  size_t before = out->length;
  bool was_full = out->overflowed;
  out->overflowed = false;
  write_value(writer, value, depth);
  return finish(out, before, was_full);
}

int json_write(const struct json *value, struct buf *out) {
  struct writer writer = {.out = out};
  return write_all(&writer, value, 0);
}

int json_write_sorted(const struct json *value, struct buf *out) {
  struct writer writer = {.out = out, .style = {.sort = true}};
  return write_all(&writer, value, 0);
}

int json_write_indented(const struct json *value, bool sort, unsigned depth,
                        struct buf *out) {
  struct writer writer = {.out = out,
                          .style = {.indented = true, .sort = sort}};
  return write_all(&writer, value, depth);
}

int json_write_string(const char *text, size_t length, struct buf *out) {
  size_t before = out->length;
  bool was_full = out->overflowed;
  out->overflowed = false;
  append_string(text, length, out);
  return finish(out, before, was_full);
}
