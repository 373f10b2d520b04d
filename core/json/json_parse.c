#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "core/json/json_raw.h"
#include "core/json/json_scan.h"

#define MIB ((size_t)1 << 20)

const struct json_rules JSON_RULES_REQUEST = {
    .max_bytes = 64 * MIB, .max_depth = 64, .max_memory = 8 * MIB};
const struct json_rules JSON_RULES_KERNEL = {.max_bytes = 512 * MIB,
                                             .max_depth = 512,
                                             .tolerant = true,
                                             .raw_depth = 3,
                                             .max_memory = 64 * MIB};
const struct json_rules JSON_RULES_NOTEBOOK = {.max_bytes = 2048 * MIB,
                                               .max_depth = 512,
                                               .tolerant = true,
                                               .raw_depth = 7,
                                               .max_memory = 1024 * MIB};
const struct json_rules JSON_RULES_STORE = {.max_bytes = 512 * MIB,
                                            .max_depth = 600,
                                            .raw_depth = 4,
                                            .max_memory = 256 * MIB};

/* What json-c 0.16 allocates for a value beside its text, malloc's own share
 * included. */
enum {
  COST_CONTAINER = 200, /* and what the text's own allocation adds */
  COST_OBJECT = 700,    /* room for 16 members */
  COST_SCALAR = 80,
  COST_MEMBER = 96, /* a place in its container, the key's allocation */
};

struct parser {
  struct json_scan scan;
  const struct json_rules *rules;
  unsigned depth;
  size_t memory;
  /* The keys whose values are being read, each with its NUL: a stack. */
  struct buf keys;
  struct err *err;
};

static int parse_value(struct parser *parser, int token, struct json **ret);

static int next_token(struct parser *parser) {
  int token = json_scan_next(&parser->scan, parser->err);
  if (token == JSON_TOKEN_STRING &&
      parser->scan.bytes_length > JSON_STRING_MOST)
    return json_scan_too_long(&parser->scan, parser->err);
  return token;
}

static int expected(struct parser *parser, int token, const char *what) {
  return json_scan_expected(&parser->scan, token, what, parser->err);
}

static int charge(struct parser *parser, size_t bytes) {
  parser->memory += bytes;
  size_t most = parser->rules->max_memory;
  if (most == 0 || parser->memory <= most)
    return 0;
  return err_set(parser->err, ERR_TOO_LARGE,
                 "JSON: the values up to byte %zu would take more than "
                 "%zu MiB of memory",
                 parser->scan.start, most / MIB);
}

static int enter(struct parser *parser) {
  if (++parser->depth > parser->rules->max_depth)
    return err_set(parser->err, ERR_INVALID,
                   "JSON: nested deeper than %u levels at byte %zu",
                   parser->rules->max_depth, parser->scan.start);
  return 0;
}

static int parse_array(struct parser *parser, struct json **ret) {
  struct json *array = *ret = json_array();
  int token = next_token(parser);
  if (token == JSON_TOKEN_CLOSE_ARRAY)
    return 0;
  for (;;) {
    struct json *element = NULL;
    if (parse_value(parser, token, &element) < 0)
      return -1;
    json_push(array, element);
    if (charge(parser, 2 * sizeof element) < 0)
      return -1;
    token = next_token(parser);
    if (token == JSON_TOKEN_CLOSE_ARRAY)
      return 0;
    if (token != JSON_TOKEN_COMMA)
      return expected(parser, token, "\",\" or \"]\"");
    token = next_token(parser);
  }
}

/* Pushes the key that was just scanned; its NULs become U+FFFD. */
static int push_key(struct parser *parser) {
  const char *bytes = parser->scan.bytes;
  size_t length = parser->scan.bytes_length;
  const char *nul;
  while ((nul = memchr(bytes, '\0', length)) != NULL) {
    if (!parser->rules->tolerant)
      return err_set(parser->err, ERR_FIELD,
                     "JSON: the key at byte %zu has a NUL character (\\u0000), "
                     "as no field has",
                     parser->scan.start);
    size_t run = (size_t)(nul - bytes);
    buf_append(&parser->keys, bytes, run);
    buf_text(&parser->keys, UTF8_REPLACEMENT);
    bytes += run + 1;
    length -= run + 1;
  }
  buf_append(&parser->keys, bytes, length);
  buf_byte(&parser->keys, '\0');
  return charge(parser, COST_MEMBER);
}

static int parse_member(struct parser *parser, int token, struct json *object) {
  if (token != JSON_TOKEN_STRING)
    return expected(parser, token, "a key in double quotes");
  size_t top = parser->keys.length;
  if (push_key(parser) < 0)
    return -1;
  if (!parser->rules->tolerant && json_has(object, parser->keys.data + top))
    return err_set(parser->err, ERR_INVALID,
                   "JSON: the key at byte %zu is there twice",
                   parser->scan.start);
  token = next_token(parser);
  if (token != JSON_TOKEN_COLON)
    return expected(parser, token, "\":\"");
  struct json *value = NULL;
  if (parse_value(parser, next_token(parser), &value) < 0)
    return -1;
  json_set(object, parser->keys.data + top, value);
  buf_truncate(&parser->keys, top);
  return 0;
}

static int parse_object(struct parser *parser, struct json **ret) {
  int token = next_token(parser);
  if (token == JSON_TOKEN_CLOSE_OBJECT) {
    *ret = json_object_small();
    return 0;
  }
  struct json *object = *ret = json_object();
  if (charge(parser, COST_OBJECT) < 0)
    return -1;
  for (;;) {
    if (parse_member(parser, token, object) < 0)
      return -1;
    token = next_token(parser);
    if (token == JSON_TOKEN_CLOSE_OBJECT)
      return 0;
    if (token != JSON_TOKEN_COMMA)
      return expected(parser, token, "\",\" or \"}\"");
    token = next_token(parser);
  }
}

/* What is deep stays text. */
static int keep_text(struct parser *parser, int token, struct json **ret) {
  static const struct json_style compact = {0};
  /* U+FFFD for one byte, \u001f for another, a mark at long numbers. */
  CLEANUP(buf_free) struct buf text = BUF_INIT(6 * parser->scan.length + 64);
  if (json_transcode(&parser->scan, token, &compact, 0,
                     parser->rules->max_depth - parser->depth, &text,
                     parser->err) < 0)
    return -1;
  *ret = json_raw_new(buf_string(&text), text.length);
  return 0;
}

static int parse_container(struct parser *parser, int token,
                           struct json **ret) {
  bool is_object = token == JSON_TOKEN_OPEN_OBJECT;
  if (charge(parser, COST_CONTAINER) < 0)
    return -1;
  unsigned raw_depth = parser->rules->raw_depth;
  if (raw_depth != 0 && parser->depth + 1 >= raw_depth)
    return keep_text(parser, token, ret);
  if (enter(parser) < 0)
    return -1;
  CLEANUP(json_done) struct json *container = NULL;
  if ((is_object ? parse_object(parser, &container)
                 : parse_array(parser, &container)) < 0)
    return -1;
  parser->depth--;
  *ret = MEM_STEAL(container);
  return 0;
}

static int parse_scalar(struct parser *parser, int token, struct json **ret) {
  const struct json_scan *scan = &parser->scan;
  if (charge(parser, COST_SCALAR) < 0)
    return -1;
  switch (token) {
  case JSON_TOKEN_NULL:
    *ret = NULL;
    return 0;
  case JSON_TOKEN_TRUE:
  case JSON_TOKEN_FALSE:
    *ret = json_boolean(token == JSON_TOKEN_TRUE);
    return 0;
  case JSON_TOKEN_STRING:
    *ret = json_string_valid(scan->bytes, scan->bytes_length);
    return 0;
  case JSON_TOKEN_INTEGER:
    *ret = json_integer(scan->integer);
    return 0;
  case JSON_TOKEN_NUMBER:
    *ret = json_number_text(scan->bytes, scan->bytes_length);
    return 0;
  default:
    return expected(parser, token, "a value");
  }
}

/* Recursion is as deep as max_depth allows, no deeper. */
static int parse_value(struct parser *parser, int token, struct json **ret) {
  if (token == JSON_TOKEN_OPEN_OBJECT || token == JSON_TOKEN_OPEN_ARRAY)
    return parse_container(parser, token, ret);
  if (token < 0)
    return -1;
  return parse_scalar(parser, token, ret);
}

static int parse_text(struct parser *parser, struct json **ret) {
  CLEANUP(json_done) struct json *value = NULL;
  if (parse_value(parser, next_token(parser), &value) < 0)
    return -1;
  int token = next_token(parser);
  if (token != JSON_TOKEN_END)
    return expected(parser, token, "the end of the text");
  *ret = MEM_STEAL(value);
  return 0;
}

int json_parse(const char *text, size_t length, const struct json_rules *rules,
               struct json **ret, struct err *err) {
  if (length > rules->max_bytes)
    return err_set(err, ERR_TOO_LARGE,
                   "JSON: %zu bytes, more than the %zu allowed", length,
                   rules->max_bytes);
  /* A key can triple, by U+FFFD for each byte; all of them fit. */
  struct parser parser = {
      .rules = rules, .keys = BUF_INIT(4 * length), .err = err};
  json_scan_open(&parser.scan, text, length, rules->tolerant);
  int result = parse_text(&parser, ret);
  json_scan_close(&parser.scan);
  buf_free(&parser.keys);
  return result;
}

struct json *json_raw_parse(const char *text, size_t length) {
  static const struct json_rules rules = {.max_bytes = SIZE_MAX,
                                          .max_depth = 1000,
                                          .tolerant = true,
                                          .raw_depth = 2};
  struct json *value = NULL;
  if (json_parse(text, length, &rules, &value, NULL) < 0)
    abort(); /* we have written it ourselves */
  return value;
}
