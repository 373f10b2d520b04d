#include "core/store/kernel.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/event.h"

static const char *const end_names[] = {
    [KERNEL_END_NONE] = NULL,         [KERNEL_END_EXIT] = "exit",
    [KERNEL_END_SIGNAL] = "signal",   [KERNEL_END_OOM] = "oom",
    [KERNEL_END_STOPPED] = "stopped", [KERNEL_END_RESTARTED] = "restarted",
    [KERNEL_END_KILLED] = "killed",   [KERNEL_END_CULLED] = "culled",
    [KERNEL_END_START] = "start",     [KERNEL_END_VANISHED] = "vanished",
};

static const struct field kernel_fields[] = {
    FIELD(struct kernel_record, id, FIELD_TEXT),
    FIELD(struct kernel_record, task, FIELD_TEXT),
    FIELD(struct kernel_record, generation, FIELD_INTEGER),
    FIELD(struct kernel_record, kernelspec, FIELD_TEXT),
    FIELD(struct kernel_record, pid, FIELD_INTEGER_OR_ZERO),
    FIELD(struct kernel_record, pid_start, FIELD_INTEGER_OR_ZERO),
    FIELD(struct kernel_record, directory, FIELD_TEXT),
    FIELD(struct kernel_record, started_at, FIELD_INTEGER),
    FIELD(struct kernel_record, ended_at, FIELD_INTEGER_OR_ZERO),
    {.column = "ending",
     .kind = FIELD_NAME,
     .offset = offsetof(struct kernel_record, end),
     .names = end_names,
     .name_count = COUNT_OF(end_names)},
    FIELD(struct kernel_record, exit_code, FIELD_INTEGER_OR_NONE),
    FIELD(struct kernel_record, signal, FIELD_INTEGER_OR_ZERO),
    FIELD(struct kernel_record, reason, FIELD_TEXT),
    FIELD(struct kernel_record, memory_peak, FIELD_INTEGER_OR_ZERO),
    FIELD(struct kernel_record, memory_limit, FIELD_INTEGER_OR_ZERO),
};
static const struct shape kernel_shape = {
    kernel_fields, COUNT_OF(kernel_fields), sizeof(struct kernel_record)};

const char *kernel_end_name(enum kernel_end end) {
  const char *name =
      (unsigned)end < COUNT_OF(end_names) ? end_names[end] : NULL;
  return name == NULL ? "none" : name;
}

enum kernel_end kernel_end_parse(const char *name) {
  for (size_t i = 0; i < COUNT_OF(end_names); i++)
    if (end_names[i] != NULL && strcmp(name, end_names[i]) == 0)
      return (enum kernel_end)i;
  return KERNEL_END_NONE;
}

void kernel_record_free(struct kernel_record *record) {
  record_free(&kernel_shape, record);
}

void kernel_list_free(struct kernel_record *list, size_t count) {
  record_list_free(&kernel_shape, list, count);
}

int kernel_latest(struct store *store, const char *task,
                  struct kernel_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "kernel_latest");
  statement_bind_text(statement, "task", task);
  return record_one(statement, &kernel_shape, "kernel", ret, err);
}

int kernel_generation(struct store *store, const char *task, int64_t generation,
                      struct kernel_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "kernel_generation");
  statement_bind_text(statement, "task", task);
  statement_bind_integer(statement, "generation", generation);
  return record_one(statement, &kernel_shape, "kernel", ret, err);
}

int kernel_get(struct store *store, const char *id, struct kernel_record *ret,
               struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "kernel_get");
  statement_bind_text(statement, "id", id);
  return record_one(statement, &kernel_shape, "kernel", ret, err);
}

int kernel_list_alive(struct store *store, struct kernel_record **ret,
                      size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return record_list(db_statement(read.db, "kernel_list_alive"), &kernel_shape,
                     (void **)ret, count, err);
}

static int insert_life(struct db *db, const struct kernel_record *record,
                       int64_t *generation, struct err *err) {
  struct statement *statement = db_statement(db, "kernel_insert");
  record_bind(statement, &kernel_shape, record);
  if (record->started_at == 0)
    statement_bind_integer(statement, "started_at", clock_wall_us());
  if (statement_step(statement, err) <= 0)
    return -1;
  *generation = statement_integer(statement, 0, 0);
  db_reset(db);
  return 0;
}

int kernel_insert(struct store *store, struct kernel_record *record,
                  struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int64_t generation;
  if (insert_life(write.db, record, &generation, err) < 0)
    return -1;
  /* Without a process it has not started. */
  if (record->pid != 0 && event_note(write.db, "kernel_event_started",
                                     record->id, clock_wall_us(), err) < 0)
    return -1;
  if (write_commit(&write, err) < 0)
    return -1;
  record->generation = generation;
  return 0;
}

/* A life that ended already is fine, one that never was is not. */
static int check_exists(struct db *db, const char *id, struct err *err) {
  struct statement *statement = db_statement(db, "kernel_get");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  db_reset(db);
  return row != 0 ? row : err_set(err, ERR_NOT_FOUND, "no such kernel");
}

int kernel_set_end(struct store *store, const char *id, enum kernel_end end,
                   int64_t exit_code, int64_t signal, const char *reason,
                   int64_t memory_peak, int64_t ended_at, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  const struct kernel_record record = {.id = (char *)id,
                                       .end = end,
                                       .exit_code = exit_code,
                                       .signal = signal,
                                       .reason = (char *)reason,
                                       .ended_at = ended_at,
                                       .memory_peak = memory_peak};
  struct statement *statement = db_statement(write.db, "kernel_set_end");
  record_bind(statement, &kernel_shape, &record);
  int changed = statement_run(statement, err);
  if (changed < 0)
    return -1;
  if (changed == 0)
    return check_exists(write.db, id, err) < 0 ? -1 : 0;
  if (event_note(write.db, "kernel_event_ended", id, ended_at, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int kernel_activity(struct store *store, const char *task, int64_t *last_at,
                    bool *busy, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "kernel_activity");
  statement_bind_text(statement, "task", task);
  if (statement_step(statement, err) <= 0)
    return -1;
  *last_at = statement_integer(statement, 0, 0);
  *busy = statement_integer(statement, 1, 0) != 0;
  return 0;
}
