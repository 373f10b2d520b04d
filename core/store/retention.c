#include "core/store/retention.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"

void retention_files_free(struct retention_files *files) {
  for (size_t i = 0; i < files->count; i++) {
    free(files->list[i].task);
    free(files->list[i].name);
  }
  free(files->list);
  *files = (struct retention_files){0};
}

/* A run that is looked at. */
struct candidate {
  int64_t sequence;
  char *task;
  int64_t end_number, queued_at, ended_at;
  bool followed; /* there is a later run of the task */
};
static const struct field candidate_fields[] = {
    FIELD(struct candidate, sequence, FIELD_INTEGER),
    FIELD(struct candidate, task, FIELD_TEXT),
    FIELD(struct candidate, end_number, FIELD_INTEGER_OR_ZERO),
    FIELD(struct candidate, queued_at, FIELD_INTEGER),
    FIELD(struct candidate, ended_at, FIELD_INTEGER_OR_ZERO),
    FIELD(struct candidate, followed, FIELD_BOOLEAN),
};
static const struct shape candidate_shape = {
    candidate_fields, COUNT_OF(candidate_fields), sizeof(struct candidate)};

static int list_candidates(struct db *db, const struct retention_rule *rule,
                           int most, int64_t after, struct candidate **ret,
                           size_t *count, struct err *err) {
  struct statement *statement = db_statement(
      db, rule->task == NULL ? "retention_runs" : "retention_runs_of_task");
  if (rule->task != NULL) {
    statement_bind_text(statement, "task", rule->task);
    statement_bind_integer(statement, "cut", rule->cut);
  }
  statement_bind_integer(statement, "after", after);
  statement_bind_integer(statement, "most", most);
  return record_list(statement, &candidate_shape, (void **)ret, count, err);
}

static int list_artifacts(struct db *db, int64_t run, int64_t **ret,
                          size_t *count, struct err *err) {
  struct statement *statement = db_statement(db, "retention_artifacts_of_run");
  statement_bind_integer(statement, "run", run);
  int row;
  while ((row = statement_step(statement, err)) > 0) {
    *ret = mem_grow(*ret, *count + 1, sizeof **ret);
    (*ret)[(*count)++] = statement_integer(statement, 0, 0);
  }
  return row;
}

static int remove_artifact(struct db *db, int64_t id,
                           struct retention_files *files, struct err *err) {
  struct statement *statement = db_statement(db, "retention_remove_artifact");
  statement_bind_integer(statement, "id", id);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row;
  files->list = mem_grow(files->list, files->count + 1, sizeof *files->list);
  files->list[files->count++] = (struct retention_file){
      mem_copy_text(statement_text(statement, 0, NULL)),
      mem_copy_text(statement_text(statement, 1, NULL))};
  db_reset(db);
  return 0;
}

static int mark(struct db *db, const struct candidate *run, const char *why,
                struct err *err) {
  struct statement *statement = db_statement(db, "retention_mark");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "why", why);
  statement_bind_text(statement, "task", run->task);
  statement_bind_integer(statement, "end_number", run->end_number);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

static int remove_run(struct db *db, const struct candidate *run,
                      const char *why, struct retention_files *files,
                      struct err *err) {
  CLEANUP(mem_free_pointer) int64_t *artifacts = NULL;
  size_t count = 0;
  if (list_artifacts(db, run->sequence, &artifacts, &count, err) < 0 ||
      mark(db, run, why, err) < 0)
    return -1;
  struct statement *statement = db_statement(db, "retention_remove_run");
  statement_bind_integer(statement, "run", run->sequence);
  if (statement_run(statement, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    if (remove_artifact(db, artifacts[i], files, err) < 0)
      return -1;
  return 0;
}

static bool may_go(const struct candidate *run,
                   const struct retention_rule *rule) {
  return run->ended_at != 0 && run->ended_at < rule->before && run->followed;
}

static int remove_those(struct db *db, const struct candidate *list,
                        size_t count, const struct retention_rule *rule,
                        int64_t *removed, struct retention_files *files,
                        struct err *err) {
  for (size_t i = 0; i < count; i++) {
    if (!may_go(&list[i], rule))
      continue;
    if (remove_run(db, &list[i], rule->why, files, err) < 0)
      return -1;
    ++*removed;
  }
  return 0;
}

/* What was found goes to the caller only when the transaction is committed. */
static int remove_in_transaction(struct store *store,
                                 const struct candidate *list, size_t count,
                                 const struct retention_rule *rule,
                                 int64_t *removed,
                                 struct retention_files *files,
                                 struct err *err) {
  CLEANUP(write_end) struct write write;
  CLEANUP(retention_files_free) struct retention_files found = {0};
  int64_t gone = 0;
  if (write_begin(store, &write, err) < 0 ||
      remove_those(write.db, list, count, rule, &gone, &found, err) < 0 ||
      write_commit(&write, err) < 0)
    return -1;
  *removed += gone;
  for (size_t i = 0; i < found.count; i++) {
    files->list = mem_grow(files->list, files->count + 1, sizeof *files->list);
    files->list[files->count++] = found.list[i];
  }
  found.count = 0;
  return 0;
}

static int look_for(struct store *store, const struct retention_rule *rule,
                    int most, int64_t after, struct candidate **ret,
                    size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return list_candidates(read.db, rule, most, after, ret, count, err);
}

int retention_remove_runs(struct store *store,
                          const struct retention_rule *rule, int most,
                          int64_t *after, int64_t *removed,
                          struct retention_files *files, struct err *err) {
  struct candidate *list = NULL;
  size_t count = 0;
  if (look_for(store, rule, most, *after, &list, &count, err) < 0)
    return -1;
  /* Runs come in the order of acceptance: behind the first that is too young
   * all are. */
  bool young = count > 0 && list[count - 1].queued_at >= rule->before;
  bool any = false;
  for (size_t i = 0; i < count && !any; i++)
    any = may_go(&list[i], rule);
  int result = 0;
  if (any)
    result =
        remove_in_transaction(store, list, count, rule, removed, files, err);
  if (result == 0 && count > 0)
    *after = list[count - 1].sequence;
  bool end = count < (size_t)most || young;
  record_list_free(&candidate_shape, list, count);
  return result < 0 ? -1 : !end;
}

/* Adds up from the newest run back. 1: *cut is found; 0: the page was the last;
 * 2: there is more. */
static int add_page(struct db *db, const char *task, int64_t bytes,
                    int64_t *before, int64_t *total, int64_t *cut,
                    struct err *err) {
  enum { PAGE = 200 };
  struct statement *statement = db_statement(db, "retention_sizes");
  statement_bind_text(statement, "task", task);
  statement_bind_integer(statement, "before", *before);
  statement_bind_integer(statement, "most", PAGE);
  int row, count = 0;
  while ((row = statement_step(statement, err)) > 0) {
    *before = statement_integer(statement, 0, 0);
    *total += statement_integer(statement, 1, 0);
    count++;
    if (*total > bytes) {
      *cut = *before;
      return 1;
    }
  }
  return row < 0 ? -1 : count < PAGE ? 0 : 2;
}

int retention_find_cut(struct store *store, const char *task, int64_t bytes,
                       int64_t *cut, struct err *err) {
  int64_t before = INT64_MAX, total = 0;
  int result;
  do {
    CLEANUP(read_end) struct read read;
    if (read_begin(store, &read, err) < 0)
      return -1;
    result = add_page(read.db, task, bytes, &before, &total, cut, err);
  } while (result == 2);
  return result;
}

int retention_remove_events(struct store *store, int64_t before, int most,
                            struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "retention_events");
  statement_bind_integer(statement, "most", most);
  statement_bind_integer(statement, "before", before);
  int removed = statement_run(statement, err);
  if (removed < 0 || write_commit(&write, err) < 0)
    return -1;
  return removed;
}

static const struct field task_fields[] = {
    FIELD(struct retention_task, id, FIELD_TEXT),
    FIELD(struct retention_task, deleted_at, FIELD_INTEGER_OR_ZERO),
};
static const struct shape task_shape = {task_fields, COUNT_OF(task_fields),
                                        sizeof(struct retention_task)};

int retention_list_tasks(struct store *store, const char *after, int most,
                         struct retention_task **ret, size_t *count,
                         struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "retention_tasks");
  statement_bind_text(statement, "after", after);
  statement_bind_integer(statement, "most", most);
  return record_list(statement, &task_shape, (void **)ret, count, err);
}

void retention_tasks_free(struct retention_task *list, size_t count) {
  record_list_free(&task_shape, list, count);
}

int retention_knows_task(struct store *store, const char *task,
                         struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "retention_knows_task");
  statement_bind_text(statement, "task", task);
  return statement_step(statement, err);
}

int retention_knows_artifact(struct store *store, const char *task,
                             const char *name, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement =
      db_statement(read.db, "retention_knows_artifact");
  statement_bind_text(statement, "task", task);
  statement_bind_text(statement, "name", name);
  return statement_step(statement, err);
}
