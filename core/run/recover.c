#include "core/run/recover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/process/process.h"
#include "core/run/answer.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_notebook.h"
#include "core/run/failure.h"
#include "core/store/replay.h"

/* Does something with the notebook that has the run's cell. */
typedef int act(struct engine *engine, struct notebook *notebook,
                const struct run_record *run, struct err *err);

/* Opening a notebook would make one. */
static bool has_notebook(const struct engine *engine, const char *task) {
  struct stat status;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_NOTEBOOK, task);
  return fstatat(engine->tasks_directory, path, &status, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         S_ISREG(status.st_mode);
}

/* We have the turn. */
static int work_on(struct engine *engine, const struct run_record *run,
                   act *change) {
  struct err err = {0};
  CLEANUP(task_notebook_close) struct task_notebook slot = {0};
  struct notebook *notebook =
      task_notebook_open(engine, run->task, &slot, &err);
  int result = -1;
  if (notebook != NULL)
    result = notebook_has_cell(notebook, run->id)
                 ? change(engine, notebook, run, &err)
                 : 0;
  if (result < 0)
    log_error("the notebook of task %s is not up to date: %s", run->task,
              err.text);
  return result;
}

/* 0 when it is done, or there is nothing to do it to. */
static int with_cell(struct engine *engine, const struct run_record *run,
                     act *change) {
  if (!has_notebook(engine, run->task))
    return 0;
  struct queue_entry *entry = queue_try(engine->queues, run->task);
  int result =
      entry != NULL && queue_lock(entry) ? work_on(engine, run, change) : -1;
  queue_leave(entry);
  return result;
}

static int mark_lost(struct engine *engine, struct notebook *notebook,
                     const struct run_record *run, struct err *err) {
  (void)engine;
  return notebook_set_status(notebook, run->id, run_status_name(RUN_LOST), err);
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

/* Into the array `context`: what has a cell. */
static void note_cell(void *context, const struct run_record *run) {
  struct json *cells = context;
  if (run->silent)
    return;
  struct json *cell = json_object();
  json_set_text(cell, "task", run->task);
  json_set_text(cell, "run", run->id);
  json_push(cells, cell);
}

static int close_lost(struct engine *engine, struct err *err) {
  CLEANUP(run_record_free) struct run_record words = {.status = RUN_LOST};
  failure_describe(&words, "the process that led this run ended before it",
                   NULL, (size_t)engine->conf->text_limit);
  CLEANUP(json_done) struct json *cells = json_array();
  if (run_close_lost(engine->store, process_is_alive, &words, note_cell, cells,
                     err) < 0)
    return -1;
  for (size_t i = 0; i < json_length(cells); i++) {
    const struct json *cell = json_at(cells, i);
    const struct run_record run = {
        .id = (char *)(uintptr_t)json_get_text(cell, "run"),
        .task = (char *)(uintptr_t)json_get_text(cell, "task")};
    with_cell(engine, &run, mark_lost);
  }
  return 0;
}

static int write_unwritten(struct engine *engine, struct err *err) {
  struct run_record *runs = NULL;
  size_t count = 0;
  if (run_list_unwritten(engine->store, &runs, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    if (with_cell(engine, &runs[i], write_outputs) == 0)
      run_note_written(engine->store, runs[i].id, NULL);
  run_list_free(runs, count);
  return 0;
}

int recover_after_death(struct engine *engine, struct err *err) {
  if (replay_close_lost(engine->store, process_is_alive, err) < 0 ||
      close_lost(engine, err) < 0)
    return -1;
  return write_unwritten(engine, err);
}
