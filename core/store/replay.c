#include "core/store/replay.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/leader.h"
#include "core/store/run_row.h"

static const char *const status_names[] = {
    [REPLAY_ASKED] = "asked",         [REPLAY_RUNNING] = "running",
    [REPLAY_COMPLETE] = "complete",   [REPLAY_INCOMPLETE] = "incomplete",
    [REPLAY_CANCELLED] = "cancelled", [REPLAY_LOST] = "lost",
};

#define REPLAY_FIELD(member_, kind_) FIELD(struct replay_record, member_, kind_)
static const struct field replay_fields[] = {
    REPLAY_FIELD(id, FIELD_TEXT),
    REPLAY_FIELD(task, FIELD_TEXT),
    REPLAY_FIELD(asked_at, FIELD_INTEGER),
    REPLAY_FIELD(asked_by, FIELD_TEXT),
    REPLAY_FIELD(instance, FIELD_TEXT),
    REPLAY_FIELD(kernel, FIELD_TEXT),
    REPLAY_FIELD(started_at, FIELD_INTEGER_OR_ZERO),
    REPLAY_FIELD(cancel_requested_at, FIELD_INTEGER_OR_ZERO),
    REPLAY_FIELD(ended_at, FIELD_INTEGER_OR_ZERO),
    {.column = "status",
     .kind = FIELD_NAME,
     .offset = offsetof(struct replay_record, status),
     .names = status_names,
     .name_count = COUNT_OF(status_names)},
    REPLAY_FIELD(cells, FIELD_INTEGER),
    REPLAY_FIELD(same, FIELD_INTEGER),
    REPLAY_FIELD(different, FIELD_INTEGER),
    REPLAY_FIELD(failed, FIELD_INTEGER),
    REPLAY_FIELD(skipped, FIELD_INTEGER),
    REPLAY_FIELD(differences, FIELD_JSON),
};
static const struct shape replay_shape = {
    replay_fields, COUNT_OF(replay_fields), sizeof(struct replay_record)};

const char *replay_status_name(enum replay_status status) {
  return status_names[status];
}

void replay_record_free(struct replay_record *record) {
  record_free(&replay_shape, record);
}

/* One statement in a transaction of its own; returns the rows changed. */
static int change(struct store *store, const char *name,
                  const struct replay_record *record, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, name);
  record_bind(statement, &replay_shape, record);
  int changed = statement_run(statement, err);
  if (changed < 0 || write_commit(&write, err) < 0)
    return -1;
  return changed;
}

static int change_with_event(struct store *store, const char *name,
                             const char *event,
                             const struct replay_record *record,
                             struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, name);
  record_bind(statement, &replay_shape, record);
  if (statement_run(statement, err) < 0)
    return -1;
  statement = db_statement(write.db, event);
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "kernel", record->kernel);
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int replay_insert(struct store *store, const struct replay_record *record,
                  struct err *err) {
  int changed = change(store, "replay_insert", record, err);
  if (changed == 0)
    return err_set(err, ERR_NOT_FOUND, "no such task");
  return changed < 0 ? -1 : 0;
}

int replay_cancel_asked(struct store *store, const char *id, struct err *err) {
  struct replay_record record = {.id = (char *)(uintptr_t)id,
                                 .ended_at = clock_wall_us()};
  return change(store, "replay_cancel_asked", &record, err) < 0 ? -1 : 0;
}

int replay_start(struct store *store, const struct replay_record *record,
                 struct err *err) {
  return change_with_event(store, "replay_start", "replay_event_started",
                           record, err);
}

int replay_finish(struct store *store, const struct replay_record *record,
                  struct err *err) {
  return change_with_event(store, "replay_finish", "replay_event_finished",
                           record, err);
}

/* The row that `statement`'s parameter `key` finds. */
static int get(struct store *store, const char *statement, const char *key,
               const char *value, struct replay_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *found = db_statement(read.db, statement);
  statement_bind_text(found, key, value);
  return record_one(found, &replay_shape, "replay", ret, err);
}

int replay_get(struct store *store, const char *id, struct replay_record *ret,
               struct err *err) {
  return get(store, "replay_get", "id", id, ret, err);
}

int replay_of_kernel(struct store *store, const char *kernel,
                     struct replay_record *ret, struct err *err) {
  return get(store, "replay_of_kernel", "kernel", kernel, ret, err);
}

int replay_find_asked(struct store *store, const char *task,
                      struct replay_record *ret, struct err *err) {
  struct err fault = {0};
  if (get(store, "replay_asked", "task", task, ret, &fault) == 0)
    return 1;
  return fault.kind == ERR_NOT_FOUND
             ? 0
             : err_set(err, fault.kind, "%s", fault.text);
}

int replay_request_cancel(struct store *store, const char *task,
                          struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "replay_request_cancel");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "task", task);
  int changed = statement_run(statement, err);
  if (changed < 0 || write_commit(&write, err) < 0)
    return -1;
  return changed > 0;
}

int replay_cancel_requested(struct store *store, const char *task,
                            struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement =
      db_statement(read.db, "replay_cancel_requested");
  statement_bind_text(statement, "task", task);
  return statement_step(statement, err);
}

static int lose_replays_of(struct store *store, const char *instance,
                           const void *context, struct err *err) {
  (void)context;
  CLEANUP(mem_free_pointer) char *id = mem_copy_text(instance);
  struct replay_record record = {.instance = id, .ended_at = clock_wall_us()};
  return change(store, "replay_lose", &record, err);
}

int replay_close_lost(struct store *store,
                      bool (*alive)(int64_t pid, int64_t pid_start),
                      struct err *err) {
  return leader_close_dead(store, "replay_instances", alive, lose_replays_of,
                           NULL, err) < 0
             ? -1
             : 0;
}

int replay_list_runs(struct store *store, const char *task, const char *after,
                     int limit, struct run_record **ret, size_t *count,
                     struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "replay_list_runs");
  statement_bind_text(statement, "task", task);
  statement_bind_text(statement, "after", after);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, &run_shape, (void **)ret, count, err);
}

int replay_count_removed(struct store *store, const char *task, int64_t *ret,
                         struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "replay_count_removed");
  statement_bind_text(statement, "task", task);
  if (statement_step(statement, err) <= 0)
    return -1;
  *ret = statement_integer(statement, 0, 0);
  return 0;
}
