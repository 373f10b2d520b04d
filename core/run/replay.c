#include "core/run/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/replay_cell.h"
#include "core/store/task.h"

#define RUNS_AT_ONCE 20

/* Differences told; more are counted only. */
#define DIFFERENCES_MOST 100

static bool wanted_by_setting(struct engine *engine, const char *task) {
  CLEANUP(task_record_free) struct task_record record = {0};
  if (task_get(engine->store, task, &record, NULL) < 0)
    return false;
  return json_as_boolean(json_get(record.settings, "replay_after_death"),
                         engine->conf->replay_after_death);
}

static int ask_by_setting(struct engine *engine, const char *task,
                          struct replay_record *record, struct err *err) {
  char id[ID_UUID_SIZE];
  id_new(id);
  *record =
      (struct replay_record){.id = mem_copy_text(id),
                             .task = mem_copy_text(task),
                             .asked_at = clock_wall_us(),
                             .asked_by = mem_copy_text(REPLAY_BY_SETTING)};
  return replay_insert(engine->store, record, err);
}

/* 1 and the record of the replay that is due; 0, -1. */
static int find_due(struct engine *engine, const struct session *session,
                    struct replay_record *record, struct err *err) {
  if (session->known->runs > 0)
    return 0;
  const char *task = session->kernel->task;
  int asked = replay_find_asked(engine->store, task, record, err);
  if (asked != 0)
    return asked;
  if (strcmp(session->state, "lost") != 0 || !wanted_by_setting(engine, task))
    return 0;
  return ask_by_setting(engine, task, record, err) < 0 ? -1 : 1;
}

/* One replay while it goes on. */
struct replay {
  struct engine *engine;
  struct session *session;
  struct replay_record *record;
  int directory;    /* of the task */
  int64_t begun_ns; /* clock_boot_ns() */
  bool over;        /* no further cell is run */
  bool died;
};

static void tell(struct replay *replay, struct json *difference) {
  if (json_length(replay->record->differences) < DIFFERENCES_MOST)
    json_push(replay->record->differences, difference);
  else
    json_free(difference);
}

static void count(struct replay *replay, const struct run_record *run,
                  struct replay_cell *cell) {
  struct replay_record *record = replay->record;
  switch (cell->outcome) {
  case REPLAY_CELL_SKIPPED:
    record->skipped++;
    break;
  case REPLAY_CELL_FAILED:
    record->cells++;
    record->failed++;
    break;
  case REPLAY_CELL_DIFFERENT:
    record->cells++;
    record->different++;
    break;
  case REPLAY_CELL_SAME:
    record->cells++;
    record->same++;
    break;
  }
  if (cell->outcome != REPLAY_CELL_SAME)
    tell(replay, replay_cell_describe(run, cell));
}

static void run_again(struct replay *replay, const struct run_record *run) {
  struct replay_cell cell;
  if (replay_cancel_requested(replay->engine->store, run->task, NULL) == 1) {
    replay->over = true;
    return;
  }
  replay_cell_run(replay->engine, replay->session, replay->directory,
                  replay->record->id, run, &cell);
  count(replay, run, &cell);
  replay->died = cell.died;
  replay->over = cell.died || cell.cancelled;
  replay_cell_done(&cell);
}

/* A page of runs behind *after, which moves on. 0: there are no more. */
static int run_page(struct replay *replay, char **after, struct err *err) {
  struct run_record *runs = NULL;
  size_t found = 0;
  if (replay_list_runs(replay->engine->store, replay->record->task, *after,
                       RUNS_AT_ONCE, &runs, &found, err) < 0)
    return -1;
  for (size_t i = 0; i < found && !replay->over; i++)
    run_again(replay, &runs[i]);
  if (found > 0) {
    free(*after);
    *after = mem_copy_text(runs[found - 1].id);
  }
  run_list_free(runs, found);
  return found == RUNS_AT_ONCE && !replay->over;
}

static int run_all(struct replay *replay, struct err *err) {
  CLEANUP(mem_free_pointer) char *after = NULL;
  int more;
  do
    more = run_page(replay, &after, err);
  while (more > 0);
  return more;
}

static void add_difference(struct replay *replay, const char *what,
                           const char *reason) {
  struct json *difference = json_object();
  json_set_text(difference, "what", what);
  json_set_text(difference, "reason", reason);
  tell(replay, difference);
}

/* What retention removed cannot be run again. */
static void note_removed(struct replay *replay) {
  int64_t removed = 0;
  if (replay_count_removed(replay->engine->store, replay->record->task,
                           &removed, NULL) < 0 ||
      removed == 0)
    return;
  CLEANUP(mem_free_pointer)
  char *reason = mem_format("%lld earlier runs were removed by retention",
                            (long long)removed);
  replay->record->skipped += removed;
  add_difference(replay, "removed", reason);
}

static enum replay_status status_of(const struct replay *replay) {
  const struct replay_record *record = replay->record;
  if (replay->died)
    return REPLAY_LOST;
  if (replay->over)
    return REPLAY_CANCELLED;
  return record->failed + record->skipped > 0 ? REPLAY_INCOMPLETE
                                              : REPLAY_COMPLETE;
}

static void record_end(struct replay *replay) {
  struct replay_record *record = replay->record;
  struct err err = {0};
  record->ended_at =
      record->started_at + (clock_boot_ns() - replay->begun_ns) / 1000;
  if (replay_finish(replay->engine->store, record, &err) < 0)
    log_error("the end of replay %s is not in the registry: %s", record->id,
              err.text);
}

/* What the run that waited is told of the variables that it meets. */
static void tell_lease(const struct replay *replay) {
  const struct replay_record *record = replay->record;
  struct session *session = replay->session;
  char before[sizeof session->reason];
  memcpy(before, session->reason, sizeof before);
  bool complete = record->status == REPLAY_COMPLETE;
  if (complete)
    session->state = "kept";
  snprintf(session->reason, sizeof session->reason,
           "%.200s%s%lld of its cells that had gone well were run again%s: "
           "%lld gave other outputs, %lld failed, %lld were left out",
           before, *before == '\0' ? "" : "; ", (long long)record->cells,
           complete ? " and brought the variables back" : "",
           (long long)record->different, (long long)record->failed,
           (long long)record->skipped);
}

static void perform(struct replay *replay) {
  struct replay_record *record = replay->record;
  struct known_kernel *known = replay->session->known;
  struct err err = {0};
  record->instance = mem_copy_text(replay->engine->instance);
  record->kernel = mem_copy_text(known->kernel.id);
  record->started_at = clock_wall_us();
  replay->begun_ns = clock_boot_ns();
  record->differences = json_array();
  if (replay_start(replay->engine->store, record, &err) < 0) {
    log_error("replay %s was not begun: %s", record->id, err.text);
    return;
  }
  note_removed(replay);
  if (run_all(replay, &err) < 0)
    add_difference(replay, "broken off", err.text);
  record->status = status_of(replay);
  known->runs += record->cells;
  record_end(replay);
  tell_lease(replay);
}

static void replay_when_due(struct engine *engine, struct session *session,
                            bool *died) {
  CLEANUP(replay_record_free) struct replay_record record = {0};
  struct err err = {0};
  *died = false;
  int due = find_due(engine, session, &record, &err);
  if (due < 0)
    log_error("replays of task %s: %s", session->kernel->task, err.text);
  if (due <= 0)
    return;
  CLEANUP(mem_close_descriptor)
  int directory =
      fs_open_beneath(engine->tasks_directory, session->kernel->task,
                      O_RDONLY | O_DIRECTORY, 0, NULL);
  struct replay replay = {.engine = engine,
                          .session = session,
                          .record = &record,
                          .directory = directory};
  perform(&replay);
  *died = replay.died;
}

int replay_open_session(struct engine *engine, const char *task,
                        struct session *ret, char **stderr_tail,
                        struct err *err) {
  bool died = false;
  if (session_open(engine, task, ret, stderr_tail, err) < 0)
    return -1;
  replay_when_due(engine, ret, &died);
  if (!died)
    return 0;
  session_close(engine, ret, false);
  return session_open(engine, task, ret, stderr_tail, err);
}

struct json *replay_describe(const struct replay_record *record) {
  struct json *object = json_object();
  json_set_text(object, "replay", record->id);
  json_set_text(object, "status", replay_status_name(record->status));
  json_set_integer(object, "cells", record->cells);
  json_set_integer(object, "same", record->same);
  json_set_integer(object, "different", record->different);
  json_set_integer(object, "failed", record->failed);
  json_set_integer(object, "skipped", record->skipped);
  json_set(object, "differences",
           record->differences == NULL ? json_array()
                                       : json_share(record->differences));
  return object;
}
