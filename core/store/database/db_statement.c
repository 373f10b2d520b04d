#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/store/database/db.h"
#include "core/store/database/db_handle.h"
#include "core/store/database/query.h"

static void prepare(struct statement *statement, int index) {
  size_t count;
  const struct query *query = query_all(&count) + index;
  int code = sqlite3_prepare_v3(
      statement->db->handle, query->text, (int)query->text_length,
      SQLITE_PREPARE_PERSISTENT, &statement->handle, NULL);
  if (code != SQLITE_OK)
    statement->fault = sqlite3_errmsg(statement->db->handle);
}

struct statement *db_statement(struct db *db, const char *name) {
  int index = query_find(name);
  struct statement *statement =
      index < 0 ? &db->unknown : &db->statements[index];
  statement->fault = index < 0 ? "no statement of this name" : NULL;
  statement->parameter = 0;
  statement->stepped = false;
  if (index < 0)
    return statement;
  if (statement->handle == NULL) {
    prepare(statement, index);
  } else {
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
  }
  return statement;
}

void db_reset(struct db *db) {
  for (size_t i = 0; i < db->count; i++) {
    if (!db->statements[i].stepped)
      continue;
    sqlite3_reset(db->statements[i].handle);
    db->statements[i].stepped = false;
  }
}

/* The number of parameter `name`, from 1. Callers bind in the order of the
 * statement, so the one after the last is tried first. */
static int find_parameter(struct statement *statement, const char *name) {
  if (statement->handle == NULL)
    return 0;
  int count = sqlite3_bind_parameter_count(statement->handle);
  for (int tried = 0; tried < count; tried++) {
    int index = (statement->parameter + tried) % count + 1;
    const char *found = sqlite3_bind_parameter_name(statement->handle, index);
    if (found != NULL && strcmp(found + 1, name) == 0)
      return statement->parameter = index;
  }
  statement->fault = "no parameter of this name";
  return 0;
}

static void note_bind(struct statement *statement, int code) {
  if (code != SQLITE_OK && statement->fault == NULL)
    statement->fault = sqlite3_errstr(code);
}

void statement_bind_null(struct statement *statement, const char *name) {
  int index = find_parameter(statement, name);
  if (index > 0)
    note_bind(statement, sqlite3_bind_null(statement->handle, index));
}

void statement_bind_integer(struct statement *statement, const char *name,
                            int64_t value) {
  int index = find_parameter(statement, name);
  if (index > 0)
    note_bind(statement, sqlite3_bind_int64(statement->handle, index, value));
}

void statement_bind_text(struct statement *statement, const char *name,
                         const char *text) {
  if (text == NULL)
    statement_bind_null(statement, name);
  else
    statement_bind_bytes(statement, name, text, strlen(text));
}

static void bind_buffer(struct statement *statement, int index,
                        struct buf *text) {
  size_t length = text->length;
  note_bind(statement,
            sqlite3_bind_text64(statement->handle, index, buf_take(text),
                                length, free, SQLITE_UTF8));
}

void statement_bind_bytes(struct statement *statement, const char *name,
                          const char *text, size_t length) {
  int index = find_parameter(statement, name);
  if (index == 0)
    return;
  if (utf8_is_valid(text, length)) {
    note_bind(statement,
              sqlite3_bind_text64(statement->handle, index, text, length,
                                  SQLITE_STATIC, SQLITE_UTF8));
    return;
  }
  CLEANUP(buf_free) struct buf repaired = BUF_INIT(BUF_ANSWER);
  if (utf8_repair(text, length, &repaired) < 0)
    note_bind(statement, SQLITE_TOOBIG);
  else
    bind_buffer(statement, index, &repaired);
}

void statement_bind_json(struct statement *statement, const char *name,
                         const struct json *value) {
  int index = find_parameter(statement, name);
  if (index == 0 || value == NULL)
    return;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  if (json_write(value, &text) < 0)
    note_bind(statement, SQLITE_TOOBIG);
  else
    bind_buffer(statement, index, &text);
}

const char *statement_parameter(struct statement *statement, int index) {
  if (statement->handle == NULL)
    return NULL;
  const char *name = sqlite3_bind_parameter_name(statement->handle, index + 1);
  return name == NULL ? NULL : name + 1;
}

static const char *statement_name(const struct statement *statement,
                                  int *length) {
  size_t count;
  const struct query *all = query_all(&count);
  if (statement == &statement->db->unknown) {
    *length = 1;
    return "?";
  }
  const struct query *query = &all[statement - statement->db->statements];
  *length = (int)query->name_length;
  return query->name;
}

static int fail_statement(struct statement *statement, int code,
                          struct err *err) {
  int length;
  const char *name = statement_name(statement, &length);
  if (statement->fault != NULL)
    return err_set(err, ERR_INTERNAL, "database, %.*s: %s", length, name,
                   statement->fault);
  CLEANUP(mem_free_pointer) char *what = mem_copy_bytes(name, (size_t)length);
  return db_fail(statement->db, code, what, err);
}

int statement_step(struct statement *statement, struct err *err) {
  if (statement->fault != NULL)
    return fail_statement(statement, SQLITE_ERROR, err);
  int code = sqlite3_step(statement->handle);
  statement->stepped = code == SQLITE_ROW;
  if (code == SQLITE_ROW)
    return 1;
  int result = code == SQLITE_DONE ? 0 : fail_statement(statement, code, err);
  sqlite3_reset(statement->handle);
  return result;
}

int statement_run(struct statement *statement, struct err *err) {
  int code;
  while ((code = statement_step(statement, err)) > 0)
    ;
  return code < 0 ? -1 : sqlite3_changes(statement->db->handle);
}

int statement_columns(struct statement *statement) {
  return sqlite3_data_count(statement->handle);
}

const char *statement_column_name(struct statement *statement, int column) {
  return sqlite3_column_name(statement->handle, column);
}

const char *statement_text(struct statement *statement, int column,
                           size_t *length) {
  const unsigned char *text = sqlite3_column_text(statement->handle, column);
  if (length != NULL)
    *length = (size_t)sqlite3_column_bytes(statement->handle, column);
  return (const char *)text;
}

int64_t statement_integer(struct statement *statement, int column,
                          int64_t otherwise) {
  if (sqlite3_column_type(statement->handle, column) == SQLITE_NULL)
    return otherwise;
  return sqlite3_column_int64(statement->handle, column);
}

int statement_json(struct statement *statement, int column, struct json **ret,
                   struct err *err) {
  size_t length;
  const char *text = statement_text(statement, column, &length);
  if (text == NULL) {
    *ret = NULL;
    return 0;
  }
  return json_parse(text, length, &JSON_RULES_STORE, ret, err);
}
