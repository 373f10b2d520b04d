#include "core/run/recover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/control/task_lock.h"
#include "core/process/process.h"
#include "core/run/answer.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_notebook.h"
#include "core/run/failure.h"
#include "core/run/late/visits.h"
#include "core/store/replay.h"

/* Opening a notebook would make one. */
static bool has_notebook(const struct engine *engine, const char *task) {
  struct stat status;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_NOTEBOOK, task);
  return fstatat(engine->tasks_directory, path, &status, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         S_ISREG(status.st_mode);
}

static int write_outputs(struct engine *engine, struct notebook *notebook,
                         const struct run_record *run, struct err *err) {
  CLEANUP(json_done) struct json *stored = NULL;
  if (run_outputs(engine->store, run->id, &stored, err) < 0)
    return -1;
  CLEANUP(json_done)
  struct json *outputs = answer_outputs(engine, run->task, stored);
  return notebook_set_outputs(notebook, run->id, outputs, err);
}

/* What the notebook has of a run that was closed after a death is more than the
 * registry has; only its status is missing. */
static int write_cell(struct engine *engine, struct notebook *notebook,
                      const struct run_record *run, struct err *err) {
  bool closed = run->status == RUN_LOST || run->status == RUN_NOT_RUN;
  if (!notebook_has_cell(notebook, run->id))
    return 0;
  return closed ? notebook_set_status(notebook, run->id,
                                      run_status_name(run->status), err)
                : write_outputs(engine, notebook, run, err);
}

/* In the task's turn. */
static void write_run(struct engine *engine, const struct run_record *run) {
  struct err err = {0};
  CLEANUP(task_notebook_close) struct task_notebook slot = {0};
  if (has_notebook(engine, run->task)) {
    struct notebook *notebook =
        task_notebook_open(engine, run->task, &slot, &err);
    if (notebook == NULL || write_cell(engine, notebook, run, &err) < 0) {
      log_error("the notebook of task %s is not up to date: %s", run->task,
                err.text);
      return;
    }
  }
  run_note_written(engine->store, run->id, NULL);
}

static void write_in_turn(struct engine *engine, const struct run_record *run) {
  struct queue_entry *entry = NULL;
  if (queue_join_aside(engine->queues, run->task, &entry, NULL) < 0)
    return;
  if (queue_is_next(entry))
    write_run(engine, run);
  queue_leave(entry);
}

static int each_unwritten(struct engine *engine,
                          void (*act)(struct engine *engine,
                                      const struct run_record *run),
                          struct err *err) {
  struct run_record *runs = NULL;
  size_t count = 0;
  if (run_list_unwritten(engine->store, &runs, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    act(engine, &runs[i]);
  run_list_free(runs, count);
  return 0;
}

static bool has_begun(const void *context, const struct run_record *run) {
  const struct engine *engine = context;
  return task_lock_has_begun(engine->queues_directory, run->task, run->id);
}

static int close_lost(struct engine *engine, struct err *err) {
  size_t limit = (size_t)engine->conf->text_limit;
  CLEANUP(run_record_free) struct run_record lost = {.status = RUN_LOST};
  CLEANUP(run_record_free) struct run_record not_run = {.status = RUN_NOT_RUN};
  failure_describe(&lost, "the process that led this run ended before it", NULL,
                   limit);
  failure_describe(
      &not_run, "the process that was to lead this run ended before it began",
      NULL, limit);
  const struct run_losing losing = {.lost = &lost,
                                    .not_run = &not_run,
                                    .has_begun = has_begun,
                                    .context = engine};
  return run_close_lost(engine->store, process_is_alive, &losing, err);
}

int recover_after_death(struct engine *engine, struct err *err) {
  if (replay_close_lost(engine->store, process_is_alive, err) < 0 ||
      close_lost(engine, err) < 0)
    return -1;
  return each_unwritten(engine, write_in_turn, err);
}

static void visit(struct engine *engine, const char *task, const char *id) {
  CLEANUP(run_record_free) struct run_record run = {0};
  (void)task;
  if (run_is_unwritten(engine->store, id, NULL) == 1 &&
      run_get(engine->store, id, &run, NULL) == 0)
    write_run(engine, &run);
}

static void write_later(struct engine *engine, const struct run_record *run) {
  visits_add(engine->visits, run->task, run->id, visit);
}

void recover_rest(struct engine *engine) {
  each_unwritten(engine, write_later, NULL);
}
