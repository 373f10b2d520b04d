#include "core/store/database/record.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

/* The field of a column. Statements name their columns in the shape's order,
 * so the one after the last is tried first. */
static const struct field *find_field(const struct shape *shape, size_t *next,
                                      const char *column) {
  for (size_t tried = 0; tried < shape->count; tried++) {
    size_t index = (*next + tried) % shape->count;
    if (strcmp(shape->fields[index].column, column) == 0) {
      *next = index + 1;
      return &shape->fields[index];
    }
  }
  return NULL;
}

static void bind_unless(struct statement *statement, const char *name,
                        int64_t value, int64_t unknown) {
  if (value == unknown)
    statement_bind_null(statement, name);
  else
    statement_bind_integer(statement, name, value);
}

static void bind_digest(struct statement *statement, const char *name,
                        const char *digest) {
  statement_bind_text(statement, name, digest[0] == '\0' ? NULL : digest);
}

static void bind_name(struct statement *statement, const struct field *field,
                      int value) {
  statement_bind_text(
      statement, field->column,
      value >= 0 && value < field->name_count ? field->names[value] : NULL);
}

static void bind_field(struct statement *statement, const struct field *field,
                       const char *record) {
  const void *member = record + field->offset;
  const char *name = field->column;
  switch (field->kind) {
  case FIELD_TEXT:
    statement_bind_text(statement, name, *(char *const *)member);
    break;
  case FIELD_BYTES:
    statement_bind_bytes(
        statement, name, *(char *const *)member,
        *(const size_t *)(const void *)(record + field->length_offset));
    break;
  case FIELD_DIGEST:
    bind_digest(statement, name, member);
    break;
  case FIELD_JSON:
    statement_bind_json(statement, name, *(struct json *const *)member);
    break;
  case FIELD_INTEGER:
    statement_bind_integer(statement, name, *(const int64_t *)member);
    break;
  case FIELD_INTEGER_OR_ZERO:
    bind_unless(statement, name, *(const int64_t *)member, 0);
    break;
  case FIELD_INTEGER_OR_NONE:
    bind_unless(statement, name, *(const int64_t *)member, -1);
    break;
  case FIELD_BOOLEAN:
    statement_bind_integer(statement, name, *(const bool *)member);
    break;
  case FIELD_NAME:
    bind_name(statement, field, *(const int *)member);
    break;
  }
}

void record_bind(struct statement *statement, const struct shape *shape,
                 const void *record) {
  size_t next = 0;
  const char *parameter;
  for (int i = 0; (parameter = statement_parameter(statement, i)) != NULL;
       i++) {
    const struct field *field = find_field(shape, &next, parameter);
    if (field != NULL)
      bind_field(statement, field, record);
  }
}

static void load_digest(struct statement *statement, int column, char *member) {
  size_t length;
  const char *text = statement_text(statement, column, &length);
  member[0] = '\0';
  if (text != NULL && length == 64)
    memcpy(member, text, length + 1);
}

static int load_name(struct statement *statement, int column,
                     const struct field *field) {
  const char *text = statement_text(statement, column, NULL);
  for (int i = 0; i < field->name_count; i++)
    if (text == NULL ? field->names[i] == NULL
                     : field->names[i] && strcmp(text, field->names[i]) == 0)
      return i;
  return 0;
}

static char *copy_text(struct statement *statement, int column, size_t most,
                       size_t *length) {
  const char *text = statement_text(statement, column, length);
  if (text != NULL && most != 0)
    *length = utf8_cut(text, *length, most);
  return text == NULL ? NULL : mem_copy_bytes(text, *length);
}

static int load_field(struct statement *statement, int column,
                      const struct field *field, char *record,
                      struct err *err) {
  void *member = record + field->offset;
  size_t length;
  switch (field->kind) {
  case FIELD_TEXT:
    *(char **)member = copy_text(statement, column, 0, &length);
    break;
  case FIELD_BYTES:
    *(char **)member =
        copy_text(statement, column, field->most,
                  (size_t *)(void *)(record + field->length_offset));
    break;
  case FIELD_DIGEST:
    load_digest(statement, column, member);
    break;
  case FIELD_JSON:
    return statement_json(statement, column, member, err);
  case FIELD_INTEGER:
  case FIELD_INTEGER_OR_ZERO:
    *(int64_t *)member = statement_integer(statement, column, 0);
    break;
  case FIELD_INTEGER_OR_NONE:
    *(int64_t *)member = statement_integer(statement, column, -1);
    break;
  case FIELD_BOOLEAN:
    *(bool *)member = statement_integer(statement, column, 0) != 0;
    break;
  case FIELD_NAME:
    *(int *)member = load_name(statement, column, field);
    break;
  }
  return 0;
}

int record_load(struct statement *statement, const struct shape *shape,
                void *record, struct err *err) {
  memset(record, 0, shape->size);
  size_t next = 0;
  int columns = statement_columns(statement);
  for (int i = 0; i < columns; i++) {
    const struct field *field =
        find_field(shape, &next, statement_column_name(statement, i));
    if (field != NULL && load_field(statement, i, field, record, err) < 0) {
      record_free(shape, record);
      return -1;
    }
  }
  return 0;
}

static void copy_owned(const struct field *field, const char *record,
                       char *copy) {
  const void *from = record + field->offset;
  void *to = copy + field->offset;
  if (field->kind == FIELD_TEXT)
    *(char **)to = mem_copy_text(*(char *const *)from);
  else if (field->kind == FIELD_JSON)
    *(struct json **)to = json_copy(*(struct json *const *)from);
  else if (field->kind == FIELD_BYTES && *(char *const *)from != NULL)
    *(char **)to = mem_copy_bytes(
        *(char *const *)from,
        *(const size_t *)(const void *)(record + field->length_offset));
}

void record_copy(const struct shape *shape, const void *record, void *ret) {
  memcpy(ret, record, shape->size);
  for (size_t i = 0; i < shape->count; i++)
    copy_owned(&shape->fields[i], record, ret);
}

void record_free(const struct shape *shape, void *record) {
  for (size_t i = 0; i < shape->count; i++) {
    void *member = (char *)record + shape->fields[i].offset;
    enum field_kind kind = shape->fields[i].kind;
    if (kind == FIELD_TEXT || kind == FIELD_BYTES)
      free(*(char **)member);
    else if (kind == FIELD_JSON)
      json_free(*(struct json **)member);
  }
  memset(record, 0, shape->size);
}

int record_one(struct statement *statement, const struct shape *shape,
               const char *what, void *record, struct err *err) {
  int row = statement_step(statement, err);
  if (row < 0)
    return -1;
  if (row == 0)
    return err_set(err, ERR_NOT_FOUND, "no such %s", what);
  char *loaded = mem_new(shape->size);
  int status = record_load(statement, shape, loaded, err);
  if (status == 0)
    memcpy(record, loaded, shape->size);
  free(loaded);
  return status;
}

int record_list(struct statement *statement, const struct shape *shape,
                void **ret, size_t *count, struct err *err) {
  char *list = NULL;
  size_t length = 0, capacity = 0;
  int row;
  while ((row = statement_step(statement, err)) > 0) {
    if (length == capacity) {
      capacity = capacity == 0 ? 8 : capacity * 2;
      list = mem_grow(list, capacity, shape->size);
    }
    row = record_load(statement, shape, list + length * shape->size, err);
    if (row < 0)
      break;
    length++;
  }
  if (row < 0) {
    record_list_free(shape, list, length);
    return -1;
  }
  *ret = list;
  *count = length;
  return 0;
}

void record_list_free(const struct shape *shape, void *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    record_free(shape, (char *)list + i * shape->size);
  free(list);
}
