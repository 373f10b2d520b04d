#include "core/store/task.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/event.h"
#include "core/store/journal.h"
#include "core/store/visible.h"

static const struct field task_fields[] = {
    FIELD(struct task_record, id, FIELD_TEXT),
    FIELD(struct task_record, kernelspec, FIELD_TEXT),
    FIELD(struct task_record, settings, FIELD_JSON),
    FIELD(struct task_record, created_by, FIELD_TEXT),
    FIELD(struct task_record, created_at, FIELD_INTEGER),
    FIELD(struct task_record, deleted_at, FIELD_INTEGER_OR_ZERO),
    FIELD(struct task_record, runs, FIELD_INTEGER),
    FIELD(struct task_record, last_run_at, FIELD_INTEGER_OR_ZERO),
    FIELD(struct task_record, last_status, FIELD_TEXT),
};
static const struct shape task_shape = {task_fields, COUNT_OF(task_fields),
                                        sizeof(struct task_record)};

void task_record_free(struct task_record *record) {
  record_free(&task_shape, record);
}

void task_list_free(struct task_record *list, size_t count) {
  record_list_free(&task_shape, list, count);
}

/* No settings and an empty object mean the same. init_code is for kernels to
 * come, so it may change. */
static bool settings_agree(const struct json *a, const struct json *b,
                           const char *but) {
  CLEANUP(json_done)
  struct json *one = a == NULL ? json_object() : json_copy(a);
  CLEANUP(json_done)
  struct json *two = b == NULL ? json_object() : json_copy(b);
  if (but != NULL) {
    json_remove(one, but);
    json_remove(two, but);
  }
  return json_length(one) == 0 || json_length(two) == 0
             ? json_length(one) == json_length(two)
             : json_equal(one, two);
}

/* 1: the task must be (re)made; 0: it lives just so; 2: with another init_code.
 */
static int must_make(struct db *db, const char *id, const char *kernelspec,
                     const struct json *settings, struct err *err) {
  struct statement *statement = db_statement(db, "task_find");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row < 0 ? -1 : 1;
  CLEANUP(task_record_free) struct task_record found;
  if (record_load(statement, &task_shape, &found, err) < 0)
    return -1;
  db_reset(db);
  if (found.deleted_at != 0)
    return 1;
  if (strcmp(found.kernelspec, kernelspec) != 0)
    return err_set(err, ERR_CONFLICT,
                   "task %s exists with another kernelspec (%s)", id,
                   found.kernelspec);
  if (settings_agree(found.settings, settings, NULL))
    return 0;
  if (json_has(settings, "init_code") &&
      settings_agree(found.settings, settings, "init_code"))
    return 2;
  return err_set(err, ERR_CONFLICT,
                 "task %s exists with other settings; all but init_code are "
                 "for its whole life: delete it first, or take another name",
                 id);
}

/* The log of events, which is trimmed, and the journal, which stays. */
static int note_made(struct db *db, const char *id, const char *kernelspec,
                     const char *created_by, int64_t at, struct err *err) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "kernelspec", kernelspec);
  json_set_text(content, "created_by", created_by);
  if (event_note(db, "task_event_created", id, at, err) < 0)
    return -1;
  return journal_add(db, "task.created", id, content, err);
}

static int change_settings(struct write *write, const char *id,
                           const struct json *settings, struct err *err) {
  struct statement *statement = db_statement(write->db, "task_set_settings");
  statement_bind_text(statement, "id", id);
  statement_bind_json(statement, "settings", settings);
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "init_code", json_share(json_get(settings, "init_code")));
  if (statement_run(statement, err) < 0 ||
      journal_add(write->db, "task.changed", id, content, err) < 0 ||
      write_commit(write, err) < 0)
    return -1;
  return 2;
}

int task_put(struct store *store, const char *id, const char *kernelspec,
             const struct json *settings, const char *created_by,
             struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int make = must_make(write.db, id, kernelspec, settings, err);
  if (make <= 0)
    return make;
  if (make == 2)
    return change_settings(&write, id, settings, err);
  int64_t now = clock_wall_us();
  struct statement *statement = db_statement(write.db, "task_insert");
  statement_bind_text(statement, "id", id);
  statement_bind_text(statement, "kernelspec", kernelspec);
  statement_bind_json(statement, "settings", settings);
  statement_bind_text(statement, "created_by", created_by);
  statement_bind_integer(statement, "created_at", now);
  if (statement_run(statement, err) < 0 ||
      note_made(write.db, id, kernelspec, created_by, now, err) < 0 ||
      write_commit(&write, err) < 0)
    return -1;
  return 1;
}

int task_get(struct store *store, const char *id, struct task_record *ret,
             struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "task_get");
  statement_bind_text(statement, "id", id);
  return record_one(statement, &task_shape, "task", ret, err);
}

int task_count_failures(struct store *store, const char *id, int64_t *ret,
                        struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "task_count_failures");
  statement_bind_text(statement, "id", id);
  if (statement_step(statement, err) < 0)
    return -1;
  *ret = statement_integer(statement, 0, 0);
  return 0;
}

int task_list(struct store *store, const struct rights *rights,
              const char *after, int limit, struct task_record **ret,
              size_t *count, struct err *err) {
  CLEANUP(buf_free) struct buf globs = BUF_INIT(BUF_SMALL);
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "task_list");
  visible_bind(statement, rights, &globs);
  statement_bind_text(statement, "after", after == NULL ? "" : after);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, &task_shape, (void **)ret, count, err);
}

int task_delete(struct store *store, const char *id, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int64_t now = clock_wall_us();
  struct statement *statement = db_statement(write.db, "task_delete");
  statement_bind_integer(statement, "deleted_at", now);
  statement_bind_text(statement, "id", id);
  int changed = statement_run(statement, err);
  if (changed < 0)
    return -1;
  if (changed == 0)
    return err_set(err, ERR_NOT_FOUND, "no such task");
  if (event_note(write.db, "task_event_deleted", id, now, err) < 0 ||
      journal_add(write.db, "task.deleted", id, NULL, err) < 0)
    return -1;
  return write_commit(&write, err);
}
