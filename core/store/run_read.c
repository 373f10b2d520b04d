#include <string.h>

#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/run.h"
#include "core/store/run_row.h"

int run_get(struct store *store, const char *id, struct run_record *ret,
            struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "run_get");
  statement_bind_text(statement, "id", id);
  return record_one(statement, &run_shape, "run", ret, err);
}

/* ERR_NOT_FOUND unless the run exists: it may well have no outputs. */
static int check_exists(struct db *db, const char *id, struct err *err) {
  struct statement *statement = db_statement(db, "run_state");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row == 0)
    return err_set(err, ERR_NOT_FOUND, "no such run");
  db_reset(db);
  return row < 0 ? -1 : 0;
}

static int list_outputs(struct store *store, const char *name, const char *id,
                        struct json **ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0 || check_exists(read.db, id, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, name);
  statement_bind_text(statement, "id", id);
  CLEANUP(json_done) struct json *outputs = json_array();
  int row;
  while ((row = statement_step(statement, err)) > 0) {
    struct json *output;
    if (statement_json(statement, 0, &output, err) < 0)
      return -1;
    json_push(outputs, output);
  }
  if (row < 0)
    return -1;
  *ret = MEM_STEAL(outputs);
  return 0;
}

int run_outputs(struct store *store, const char *id, struct json **ret,
                struct err *err) {
  return list_outputs(store, "output_list", id, ret, err);
}

int run_outputs_at_end(struct store *store, const char *id, struct json **ret,
                       struct err *err) {
  return list_outputs(store, "output_list_first", id, ret, err);
}

/* Where the list starts: below the sequence of run `before`. */
static int find_start(struct db *db, const char *task, const char *before,
                      int64_t *ret, struct err *err) {
  *ret = INT64_MAX;
  if (before == NULL)
    return 0;
  struct statement *statement = db_statement(db, "run_position");
  statement_bind_text(statement, "id", before);
  int row = statement_step(statement, err);
  if (row < 0)
    return -1;
  if (row == 0 ||
      (task != NULL && strcmp(task, statement_text(statement, 1, NULL)) != 0))
    return err_set(err, ERR_NOT_FOUND, "no such run to list from");
  *ret = statement_integer(statement, 0, 0);
  db_reset(db);
  return 0;
}

/* Open runs, those that went well and those that failed are found by different
 * indexes. */
static const char *list_statement(const char *task, const char *status) {
  static const char *const all[] = {"run_list", "run_list_unended",
                                    "run_list_ok", "run_list_failed"};
  static const char *const of_task[] = {
      "run_list_task", "run_list_task_unended", "run_list_task_ended",
      "run_list_task_ended"};
  int kind = 0;
  if (status != NULL) {
    enum run_status parsed = run_status_parse(status);
    kind = !run_status_is_final(parsed) ? 1 : parsed == RUN_OK ? 2 : 3;
  }
  return task == NULL ? all[kind] : of_task[kind];
}

int run_list(struct store *store, const char *task, const char *before,
             const char *status, enum run_detail detail, int limit,
             struct run_record **ret, size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  int64_t start;
  if (read_begin(store, &read, err) < 0 ||
      find_start(read.db, task, before, &start, err) < 0)
    return -1;
  struct statement *statement =
      db_statement(read.db, list_statement(task, status));
  if (task != NULL)
    statement_bind_text(statement, "task", task);
  if (status != NULL)
    statement_bind_text(statement, "status", status);
  statement_bind_integer(statement, "before", start);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, run_shape_of(detail), (void **)ret, count, err);
}

int run_list_open(struct store *store, const char *task, enum run_detail detail,
                  struct run_record **ret, size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "run_list_open");
  statement_bind_text(statement, "task", task);
  return record_list(statement, run_shape_of(detail), (void **)ret, count, err);
}

int run_cancel_requested(struct store *store, const char *id, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "run_state");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row < 0 ? -1 : err_set(err, ERR_NOT_FOUND, "no such run");
  return statement_integer(statement, 2, 0) != 0;
}

int run_previous(struct store *store, const char *task, const char *kernel,
                 struct run_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "run_previous");
  statement_bind_text(statement, "kernel", kernel);
  statement_bind_text(statement, "task", task);
  return record_one(statement, &run_shape, "run", ret, err);
}
