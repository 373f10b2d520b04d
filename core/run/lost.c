#include "core/run/lost.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/process.h"
#include "core/run/engine_private.h"
#include "core/run/late.h"
#include "core/run/unrun.h"

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

/* Opening a notebook would make one. */
static bool has_notebook(const struct engine *engine, const char *task) {
  struct stat status;
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/notebook.ipynb", task);
  return fstatat(engine->tasks_directory, path, &status, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         S_ISREG(status.st_mode);
}

/* We have the turn. */
static void mark_cell(struct engine *engine, const char *task,
                      const char *run) {
  struct err err = {0};
  struct lease_memory memory = {0};
  struct notebook *notebook = late_notebook(engine, task, &memory, &err);
  if (notebook == NULL ||
      (notebook_has_cell(notebook, run) &&
       notebook_set_status(notebook, run, run_status_name(RUN_LOST), &err) < 0))
    log_error("the notebook shows as running what was lost: %s", err.text);
  notebook_close(memory.notebook);
  free(memory.aside);
}

static void mark(struct engine *engine, const char *task, const char *run) {
  struct turn *turn =
      has_notebook(engine, task) ? turn_try(engine->turns, task) : NULL;
  if (turn != NULL && turn_lock(turn))
    mark_cell(engine, task, run);
  turn_leave(turn);
}

int lost_close(struct engine *engine, struct err *err) {
  struct run_record CLEANUP(run_record_free) words = {.status = RUN_LOST};
  unrun_describe(&words, "the process that led this run ended before it", NULL,
                 (size_t)engine->conf->text_limit);
  struct json *CLEANUP(json_done) cells = json_array();
  if (run_close_lost(engine->store, process_is_alive, &words, note_cell, cells,
                     err) < 0)
    return -1;
  for (size_t i = 0; i < json_length(cells); i++)
    mark(engine, json_get_text(json_at(cells, i), "task"),
         json_get_text(json_at(cells, i), "run"));
  return 0;
}
