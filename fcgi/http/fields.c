#include "fcgi/http/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/text/near.h"
#include "fcgi/http/line.h"

/* What the value must be; filled in by a reader that refuses it. */
#define WANTED_SIZE 160

static int __attribute__((format(printf, 2, 3)))
want(char wanted[WANTED_SIZE], const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(wanted, WANTED_SIZE, format, values);
  va_end(values);
  return -1;
}

static bool has_nul(const struct json *text) {
  return strlen(json_text(text)) != json_text_length(text);
}

static int read_text(const struct field *field, const struct json *value,
                     void *member, char wanted[WANTED_SIZE]) {
  const char *text = json_text(value);
  bool right = text != NULL && !has_nul(value) && line_is_clean(text);
  size_t count = right ? utf8_count(text, strlen(text)) : 0;
  if (!right || (double)count < field->least || (double)count > field->most)
    return want(wanted,
                "one line of text, %.0f to %.0f characters, without control "
                "and direction characters, not only white space",
                field->least, field->most);
  *(const char **)member = text;
  return 0;
}

/* -1: the code holds a NUL, and `wanted` tells where. */
static int refuse_nul(const char *bytes, size_t length,
                      char wanted[WANTED_SIZE]) {
  const char *nul = length == 0 ? NULL : memchr(bytes, '\0', length);
  if (nul == NULL)
    return 0;
  size_t line = 1;
  const char *start = bytes;
  for (const char *at = bytes; at < nul; at++)
    if (*at == '\n') {
      line++;
      start = at + 1;
    }
  return want(wanted,
              "code without NUL characters; one stands in line %zu, column "
              "%zu (byte %zu)",
              line, utf8_count(start, (size_t)(nul - start)) + 1,
              (size_t)(nul - bytes) + 1);
}

static int read_code(const struct field *field, const struct json *value,
                     void *member, char wanted[WANTED_SIZE]) {
  (void)field;
  if (json_kind(value) != JSON_STRING)
    return want(wanted, "a string");
  if (refuse_nul(json_text(value), json_text_length(value), wanted) < 0)
    return -1;
  *(struct field_code *)member =
      (struct field_code){json_text(value), json_text_length(value)};
  return 0;
}

static int read_number(const struct field *field, const struct json *value,
                       void *member, char wanted[WANTED_SIZE]) {
  enum json_kind kind = json_kind(value);
  double number = json_as_number(value, -1);
  if ((kind != JSON_INTEGER && kind != JSON_NUMBER) || number <= field->least ||
      number > field->most)
    return want(wanted, "a number over %.12g, at most %.12g", field->least,
                field->most);
  *(double *)member = number;
  return 0;
}

static int read_integer(const struct field *field, const struct json *value,
                        void *member, char wanted[WANTED_SIZE]) {
  int64_t number = json_as_integer(value, INT64_MIN);
  if (json_kind(value) != JSON_INTEGER || (double)number < field->least ||
      (double)number > field->most)
    return want(wanted, "a whole number from %.0f to %.0f", field->least,
                field->most);
  *(int64_t *)member = number;
  return 0;
}

static int read_boolean(const struct field *field, const struct json *value,
                        void *member, char wanted[WANTED_SIZE]) {
  (void)field;
  if (json_kind(value) != JSON_BOOL)
    return want(wanted, "true or false");
  *(bool *)member = json_as_boolean(value, false);
  return 0;
}

static int read_choice(const struct field *field, const struct json *value,
                       void *member, char wanted[WANTED_SIZE]) {
  const char *text = json_text(value);
  CLEANUP(buf_free) struct buf list = BUF_INIT(BUF_LINE);
  for (int i = 0; field->choices[i] != NULL; i++) {
    if (text != NULL && strcmp(text, field->choices[i]) == 0) {
      *(int *)member = i;
      return 0;
    }
    buf_format(&list, "%s\"%s\"", i == 0 ? "" : ", ", field->choices[i]);
  }
  return want(wanted, "one of %s", buf_string(&list));
}

static bool is_tag(const struct json *tags, size_t index) {
  const struct json *tag = json_at(tags, index);
  const char *text = json_text(tag);
  if (*text == '\0' || has_nul(tag) || strchr(text, ',') != NULL)
    return false;
  for (size_t i = 0; i < index; i++)
    if (json_equal(json_at(tags, i), tag))
      return false;
  return true;
}

static int read_texts(const struct field *field, const struct json *value,
                      void *member, char wanted[WANTED_SIZE]) {
  bool tags = field->type == FIELD_TAGS;
  bool right = json_kind(value) == JSON_ARRAY &&
               (double)json_length(value) <= field->most;
  for (size_t i = 0; right && i < json_length(value); i++)
    right = json_kind(json_at(value, i)) == JSON_STRING &&
            (!tags || is_tag(value, i));
  if (!right)
    return want(wanted, "an array of at most %.0f %s", field->most,
                tags ? "tags: strings, not empty, without commas, none twice"
                     : "strings");
  *(const struct json **)member = value;
  return 0;
}

/* As POSIX names variables (IEEE Std 1003.1, 3.216 Name). */
static bool is_variable(const char *name) {
  size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
                               "abcdefghijklmnopqrstuvwxyz");
  return length != 0 && name[length] == '\0' && (*name < '0' || *name > '9');
}

static int read_environment(const struct field *field, const struct json *value,
                            void *member, char wanted[WANTED_SIZE]) {
  bool right = json_kind(value) == JSON_OBJECT &&
               (double)json_length(value) <= field->most;
  void *state = NULL;
  const char *name;
  struct json *text;
  while (right && json_next(value, &state, &name, &text))
    right =
        is_variable(name) && json_kind(text) == JSON_STRING && !has_nul(text);
  if (!right)
    return want(wanted,
                "an object of at most %.0f environment variables, each NAME: "
                "\"text\"",
                field->most);
  *(const struct json **)member = value;
  return 0;
}

static int read_object(const struct field *field, const struct json *value,
                       void *member, char wanted[WANTED_SIZE]) {
  (void)field;
  if (json_kind(value) != JSON_OBJECT)
    return want(wanted, "an object");
  *(const struct json **)member = value;
  return 0;
}

/* Sets the member, or tells in `wanted` what would be right. */
typedef int reader(const struct field *field, const struct json *value,
                   void *member, char wanted[WANTED_SIZE]);

static reader *const readers[] = {
    [FIELD_TEXT] = read_text,
    [FIELD_CODE] = read_code,
    [FIELD_NUMBER] = read_number,
    [FIELD_INTEGER] = read_integer,
    [FIELD_BOOLEAN] = read_boolean,
    [FIELD_CHOICE] = read_choice,
    [FIELD_TEXTS] = read_texts,
    [FIELD_TAGS] = read_texts,
    [FIELD_ENVIRONMENT] = read_environment,
    [FIELD_OBJECT] = read_object,
};

static void tell(struct json **details, const char *name, const char *near) {
  if (details == NULL)
    return;
  json_free(*details);
  *details = json_object();
  json_set_text(*details, "field", name);
  if (near != NULL)
    json_set_text(*details, "did_you_mean", near);
}

static int refuse(const char *name, const char *wanted, struct json **details,
                  struct err *err) {
  tell(details, name, NULL);
  return err_set(err, ERR_FIELD, "field \"%s\": wanted is %s", name, wanted);
}

int fields_check_code(const char *name, const char *bytes, size_t length,
                      struct json **details, struct err *err) {
  char wanted[WANTED_SIZE];
  if (refuse_nul(bytes, length, wanted) == 0)
    return 0;
  return refuse(name, wanted, details, err);
}

static int unknown_field(const char *name, const struct field *fields,
                         size_t count, struct json **details, struct err *err) {
  struct near near = NEAR_INIT(name);
  for (size_t i = 0; i < count; i++)
    near_consider(&near, fields[i].name);
  tell(details, name, near.best);
  char text[FS_PRINTABLE];
  fs_printable(name, text);
  if (near.best == NULL)
    return err_set(err, ERR_FIELD, "unknown field \"%s\"", text);
  return err_set(err, ERR_FIELD, "unknown field \"%s\"; did you mean \"%s\"?",
                 text, near.best);
}

static const struct field *
find_field(const char *name, const struct field *fields, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(fields[i].name, name) == 0)
      return &fields[i];
  return NULL;
}

int fields_read(const struct json *object, const struct field *fields,
                size_t count, void *target, struct json **details,
                struct err *err) {
  void *state = NULL;
  const char *name;
  struct json *value;
  while (json_next(object, &state, &name, &value)) {
    const struct field *field = find_field(name, fields, count);
    if (field == NULL)
      return unknown_field(name, fields, count, details, err);
    char wanted[WANTED_SIZE];
    if (readers[field->type](field, value, (char *)target + field->offset,
                             wanted) == 0)
      continue;
    return refuse(name, wanted, details, err);
  }
  for (size_t i = 0; i < count; i++)
    if (fields[i].required && !json_has(object, fields[i].name)) {
      tell(details, fields[i].name, NULL);
      return err_set(err, ERR_FIELD, "field \"%s\" is missing", fields[i].name);
    }
  return 0;
}

int fields_parse(const char *bytes, size_t length, struct json **ret,
                 struct err *err) {
  if (length == 0)
    return err_set(err, ERR_INVALID, "the body is empty, not a JSON object");
  CLEANUP(json_done) struct json *value = NULL;
  if (json_parse(bytes, length, &JSON_RULES_REQUEST, &value, err) < 0)
    return err != NULL && err->kind == ERR_INVALID
               ? err_wrap(err, "the body is no JSON")
               : err_wrap(err, "the body cannot be taken");
  if (json_kind(value) != JSON_OBJECT)
    return err_set(err, ERR_INVALID, "the body is JSON, but not an object");
  *ret = MEM_STEAL(value);
  return 0;
}
