#include "core/store/sandbox.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"

static const struct field fields[] = {
    FIELD(struct sandbox_record, task, FIELD_TEXT),
    FIELD(struct sandbox_record, template, FIELD_TEXT),
    FIELD(struct sandbox_record, metadata, FIELD_JSON),
    FIELD(struct sandbox_record, started_at, FIELD_INTEGER),
    FIELD(struct sandbox_record, ends_at, FIELD_INTEGER),
    FIELD(struct sandbox_record, ended_at, FIELD_INTEGER_OR_ZERO),
};
static const struct shape shape = {fields, COUNT_OF(fields),
                                   sizeof(struct sandbox_record)};

void sandbox_record_free(struct sandbox_record *record) {
  record_free(&shape, record);
}

void sandbox_list_free(struct sandbox_record *list, size_t count) {
  record_list_free(&shape, list, count);
}

/* ERR_NOT_FOUND: no row has changed. */
static int change(struct store *store, const char *statement,
                  const struct sandbox_record *record, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *changing = db_statement(write.db, statement);
  record_bind(changing, &shape, record);
  int changed = statement_run(changing, err);
  if (changed == 0)
    return err_set(err, ERR_NOT_FOUND, "no such sandbox");
  return changed < 0 ? -1 : write_commit(&write, err);
}

static int get(struct store *store, const char *statement, const char *task,
               struct sandbox_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *found = db_statement(read.db, statement);
  if (task != NULL)
    statement_bind_text(found, "task", task);
  return record_one(found, &shape, "sandbox", ret, err);
}

int sandbox_add(struct store *store, const struct sandbox_record *record,
                struct err *err) {
  return change(store, "sandbox_insert", record, err);
}

int sandbox_get(struct store *store, const char *task,
                struct sandbox_record *ret, struct err *err) {
  return get(store, "sandbox_get", task, ret, err);
}

int sandbox_next(struct store *store, struct sandbox_record *ret,
                 struct err *err) {
  return get(store, "sandbox_next", NULL, ret, err);
}

int sandbox_list(struct store *store, const char *after, int limit,
                 struct sandbox_record **ret, size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "sandbox_list");
  statement_bind_text(statement, "after", after);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, &shape, (void **)ret, count, err);
}

int sandbox_prolong(struct store *store, const char *task, int64_t ends_at,
                    struct err *err) {
  CLEANUP(mem_free_pointer) char *id = mem_copy_text(task);
  struct sandbox_record record = {.task = id, .ends_at = ends_at};
  return change(store, "sandbox_prolong", &record, err);
}

int sandbox_end(struct store *store, const char *task, struct err *err) {
  CLEANUP(mem_free_pointer) char *id = mem_copy_text(task);
  struct sandbox_record record = {.task = id, .ended_at = clock_wall_us()};
  return change(store, "sandbox_end", &record, err);
}
