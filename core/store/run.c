#include "core/store/run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/event.h"
#include "core/store/leader.h"
#include "core/store/run_row.h"

static int64_t or_now(int64_t at) { return at != 0 ? at : clock_wall_us(); }

/* 1: the key was seen before, and *existing has the first run's id. */
static int find_first(struct db *db, const struct run_record *record,
                      char existing[37], struct err *err) {
  if (record->idempotency_key == NULL)
    return 0;
  struct statement *statement = db_statement(db, "run_by_idempotency_key");
  record_bind(statement, &run_shape, record);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row;
  const char *body = statement_text(statement, 1, NULL);
  bool same = strcmp(body, record->body_sha256) == 0;
  if (same)
    memcpy(existing, statement_text(statement, 0, NULL), 37);
  db_reset(db);
  if (!same)
    return err_set(err, ERR_CONFLICT,
                   "the Idempotency-Key was used with another body before");
  return 1;
}

static int insert(struct db *db, const struct run_record *record, int64_t at,
                  struct err *err) {
  struct statement *statement = db_statement(db, "run_insert");
  record_bind(statement, &run_shape, record);
  statement_bind_integer(statement, "queued_at", at);
  int changed = statement_run(statement, err);
  if (changed == 0)
    return err_set(err, ERR_NOT_FOUND, "no such task");
  return changed < 0 ? -1 : 0;
}

int run_insert(struct store *store, const struct run_record *record,
               char existing[37], struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int seen = find_first(write.db, record, existing, err);
  if (seen != 0)
    return seen;
  int64_t at = or_now(record->queued_at);
  if (insert(write.db, record, at, err) < 0 ||
      event_note(write.db, "run_event_queued", record->id, at, err) < 0)
    return -1;
  return write_commit(&write, err);
}

/* 1 when the run was queued and now runs, 0 when it was not queued. */
static int start_row(struct db *db, const struct run_record *record,
                     struct err *err) {
  int64_t at = or_now(record->started_at);
  struct statement *statement = db_statement(db, "run_start");
  record_bind(statement, &run_shape, record);
  statement_bind_integer(statement, "started_at", at);
  int changed = statement_run(statement, err);
  if (changed <= 0)
    return changed;
  return event_note(db, "run_event_started", record->id, at, err) < 0 ? -1 : 1;
}

int run_start(struct store *store, const struct run_record *record,
              struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int started = start_row(write.db, record, err);
  if (started < 0)
    return -1;
  if (started == 0)
    return run_explain(write.db, record->id, err);
  return write_commit(&write, err);
}

/* 1: it is finished now; 0: it had ended before. */
static int finish_row(struct db *db, const struct run_record *record,
                      struct run_row *row, struct err *err) {
  struct statement *statement = db_statement(db, "run_finish");
  record_bind(statement, &run_shape, record);
  statement_bind_integer(statement, "ended_at", or_now(record->ended_at));
  return run_row_step(db, statement, row, err);
}

int run_finish(struct store *store, const struct run_ending *ending,
               struct err *err) {
  const struct run_record *record = ending->record;
  if (!run_status_is_final(record->status))
    return err_set(err, ERR_INTERNAL, "a run cannot end as %s",
                   run_status_name(record->status));
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  if (record->started_at != 0 && start_row(write.db, record, err) < 0)
    return -1;
  CLEANUP(run_row_free) struct run_row row = {0};
  int finished = finish_row(write.db, record, &row, err);
  if (finished <= 0)
    return finished < 0 ? -1 : run_explain(write.db, record->id, err);
  if (run_add_outputs(write.db, row.sequence, 0, ending->outputs, false, err) <
          0 ||
      artifact_add(write.db, row.task, row.sequence, ending->artifacts,
                   ending->artifact_count, err) < 0 ||
      run_add_displays(write.db, &row, 0, ending->displays,
                       ending->display_count, err) < 0 ||
      event_add(write.db, ending->events, ending->event_count, err) < 0 ||
      run_seal(write.db, &row, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int run_request_cancel(struct store *store, const char *id, const char *by,
                       struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "run_request_cancel");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "by", by);
  statement_bind_text(statement, "id", id);
  if (statement_run(statement, err) < 0)
    return -1;
  statement = db_statement(write.db, "run_state");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row < 0 ? -1 : err_set(err, ERR_NOT_FOUND, "no such run");
  int open = statement_integer(statement, 1, 0) == 0;
  return write_commit(&write, err) < 0 ? -1 : open;
}

static int lose_run(struct db *db, const struct run_record *run,
                    const struct run_losing *losing, struct err *err) {
  bool begun =
      run->status != RUN_QUEUED || losing->has_begun(losing->context, run);
  const struct run_record *words = begun ? losing->lost : losing->not_run;
  struct statement *statement = db_statement(db, "run_lose");
  statement_bind_text(statement, "status",
                      run_status_name(begun ? RUN_LOST : RUN_NOT_RUN));
  statement_bind_text(statement, "text", words->text);
  statement_bind_json(statement, "error", words->error);
  statement_bind_integer(statement, "ended_at", clock_wall_us());
  statement_bind_text(statement, "id", run->id);
  CLEANUP(run_row_free) struct run_row row = {0};
  int changed = run_row_step(db, statement, &row, err);
  if (changed <= 0)
    return changed;
  statement = db_statement(db, "unwritten_add_lost");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "id", run->id);
  if (statement_run(statement, err) < 0)
    return -1;
  return run_seal(db, &row, err) < 0 ? -1 : 1;
}

/* Closes every open run of one instance; returns how many. */
static int lose_runs_of(struct store *store, const char *instance,
                        const void *context, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "run_open_of_instance");
  statement_bind_text(statement, "instance", instance);
  void *list;
  size_t count;
  if (record_list(statement, &run_shape, &list, &count, err) < 0)
    return -1;
  const struct run_record *runs = list;
  int lost = 0;
  for (size_t i = 0; i < count && lost >= 0; i++) {
    int changed = lose_run(write.db, &runs[i], context, err);
    lost = changed < 0 ? -1 : lost + changed;
  }
  if (lost < 0 || write_commit(&write, err) < 0)
    lost = -1;
  run_list_free(list, count);
  return lost;
}

int run_close_lost(struct store *store,
                   bool (*alive)(int64_t pid, int64_t pid_start),
                   const struct run_losing *losing, struct err *err) {
  return leader_close_dead(store, "run_open_instances", alive, lose_runs_of,
                           losing, err);
}
