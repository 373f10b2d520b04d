#include "fcgi/handlers/execute_body.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define MOST_BYTES 1.0e15

static const char *const images[] = {"inline", "link", "signed", NULL};
static const char *const tracebacks[] = {[TRACEBACK_CONTEXT] = "context",
                                         [TRACEBACK_PLAIN] = "plain",
                                         [TRACEBACK_MINIMAL] = "minimal",
                                         NULL};

static const char *const on_disconnect[] = {"continue", "interrupt", NULL};

#define AT(member) offsetof(struct execute_body, member)

/* The most of the second, the timeout, is the configuration's. */
enum { CODE, TIMEOUT };
static const struct field fields[] = {
    {"code", FIELD_CODE, true, AT(code), 0, 0, NULL},
    {"timeout", FIELD_NUMBER, false, AT(run.timeout), 0, 0, NULL},
    {"section", FIELD_TEXT, false, AT(run.section), 1, 500, NULL},
    {"images", FIELD_CHOICE, false, AT(images), 0, 0, images},
    {"stdin", FIELD_TEXTS, false, AT(run.stdin_lines), 0, 10000, NULL},
    {"silent", FIELD_BOOLEAN, false, AT(run.silent), 0, 0, NULL},
    {"tags", FIELD_TAGS, false, AT(run.tags), 0, 64, NULL},
    {"wait", FIELD_BOOLEAN, false, AT(wait), 0, 0, NULL},
    {"text_limit", FIELD_INTEGER, false, AT(run.text_limit), 1, MOST_BYTES,
     NULL},
    {"output_bytes", FIELD_INTEGER, false, AT(run.output_bytes), 1, MOST_BYTES,
     NULL},
    {"outputs", FIELD_INTEGER, false, AT(run.outputs), 1, MOST_BYTES, NULL},
    {"image_bytes", FIELD_INTEGER, false, AT(run.image_bytes), 1, MOST_BYTES,
     NULL},
    {"traceback", FIELD_CHOICE, false, AT(traceback), 0, 0, tracebacks},
    {"on_disconnect", FIELD_CHOICE, false, AT(on_disconnect), 0, 0,
     on_disconnect},
};

static const struct execute_body nothing_asked = {
    .run = {.timeout = -1}, .wait = true, .traceback = TRACEBACK_CONTEXT};

/* From the field `first` of the table on. */
static int read_fields(const struct json *object, size_t first,
                       double timeout_max, struct execute_body *ret,
                       struct json **details, struct err *err) {
  struct execute_body body = *ret;
  struct field own[COUNT_OF(fields)];
  memcpy(own, fields, sizeof own);
  own[TIMEOUT].most = timeout_max;
  if (fields_read(object, own + first, COUNT_OF(own) - first, &body, details,
                  err) < 0)
    return -1;
  body.run.code = body.code.bytes;
  body.run.code_length = body.code.length;
  body.run.images_linked = body.images != 0;
  body.run.traceback = (enum traceback_style)body.traceback;
  *ret = body;
  return 0;
}

int execute_body_read(const struct json *object, double timeout_max,
                      struct execute_body *ret, struct json **details,
                      struct err *err) {
  *ret = nothing_asked;
  return read_fields(object, CODE, timeout_max, ret, details, err);
}

int execute_body_code(const char *bytes, size_t length,
                      struct execute_body *ret, struct json **details,
                      struct err *err) {
  if (length == 0)
    return err_set(err, ERR_INVALID, "the body is empty, there is no code");
  if (!utf8_is_valid(bytes, length))
    return err_set(err, ERR_INVALID, "the code is not valid UTF-8");
  if (fields_check_code("code", bytes, length, details, err) < 0)
    return -1;
  *ret = nothing_asked;
  ret->code = (struct field_code){bytes, length};
  ret->run.code = bytes;
  ret->run.code_length = length;
  return 0;
}

/* As the JSON that a body would have: numbers and truth values are read, of the
 * rest its text is left for the table to judge. */
static struct json *value_of(const struct field *field, const char *text) {
  struct json *value = NULL;
  if (field->type != FIELD_TEXT && field->type != FIELD_CHOICE &&
      json_parse(text, strlen(text), &JSON_RULES_REQUEST, &value, NULL) == 0)
    return value;
  return json_string(text);
}

int execute_body_query(const struct request_parameter *parameters, size_t count,
                       double timeout_max, struct execute_body *ret,
                       struct json **keep, struct json **details,
                       struct err *err) {
  CLEANUP(json_done) struct json *object = json_object();
  for (size_t i = 0; i < count; i++)
    for (size_t f = 1; f < COUNT_OF(fields); f++)
      if (strcmp(fields[f].name, parameters[i].name) == 0)
        json_set(object, fields[f].name,
                 value_of(&fields[f], parameters[i].value));
  /* "code", the first field, is the body itself. */
  if (read_fields(object, TIMEOUT, timeout_max, ret, details, err) < 0)
    return -1;
  *keep = MEM_STEAL(object);
  return 0;
}

int execute_body_check_key(const char *key, struct err *err) {
  size_t length = 0;
  while (key[length] > ' ' && key[length] < 0x7f)
    length++;
  if (length == 0 || length > 255 || key[length] != '\0')
    return err_set(err, ERR_INVALID,
                   "Idempotency-Key: wanted are 1 to 255 visible ASCII "
                   "characters");
  return 0;
}
