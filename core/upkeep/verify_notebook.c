#include "core/upkeep/verify_notebook.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/notebook/mimebundle.h"
#include "core/notebook/outputs.h"
#include "core/run/collect/artifacts.h"
#include "core/store/run.h"
#include "core/store/verify.h"

#define RUNS_AT_ONCE 50

/* Unlike the service, which repairs, this takes the file as it is. */
static const struct json_rules strict_rules = {.max_bytes = BUF_NOTEBOOK,
                                               .max_depth = 512};

struct cell {
  const char *id;
  const struct json *json;
};

/* One notebook, and the moment at which it was read. */
struct look {
  struct store *store;
  const struct task_record *task;
  int directory;    /* of the task */
  int64_t taken_at; /* wall clock */
  struct json *notebook;
  struct cell *cells; /* sorted by id */
  size_t count;
  bool set_aside; /* an earlier notebook lies beside it */
  int64_t missing;
  struct err first_missing;
};

static int differ(struct err *err, const struct look *look, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

static int differ(struct err *err, const struct look *look, const char *format,
                  ...) {
  char text[400];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  err_set(err, ERR_CONFLICT, "notebook of task %s: %s", look->task->id, text);
  return 1;
}

static int compare_cells(const void *a, const void *b) {
  return strcmp(((const struct cell *)a)->id, ((const struct cell *)b)->id);
}

static const struct json *find_cell(const struct look *look, const char *id) {
  struct cell wanted = {.id = id};
  const struct cell *found = bsearch(&wanted, look->cells, look->count,
                                     sizeof *look->cells, compare_cells);
  return found == NULL ? NULL : found->json;
}

static int list_cells(struct look *look, struct err *err) {
  const struct json *cells = json_get(look->notebook, "cells");
  if (json_kind(cells) != JSON_ARRAY ||
      json_get_integer(look->notebook, "nbformat", 0) != 4 ||
      json_kind(json_get(look->notebook, "metadata")) != JSON_OBJECT)
    return differ(err, look, "it is no notebook of format 4");
  look->count = json_length(cells);
  look->cells = mem_array(look->count, sizeof *look->cells);
  for (size_t i = 0; i < look->count; i++) {
    const struct json *cell = json_at(cells, i);
    const char *id = json_get_text(cell, "id");
    if (id == NULL || json_get_text(cell, "cell_type") == NULL)
      return differ(err, look, "cell %zu has no id or no type", i);
    look->cells[i] = (struct cell){id, cell};
  }
  qsort(look->cells, look->count, sizeof *look->cells, compare_cells);
  for (size_t i = 1; i < look->count; i++)
    if (strcmp(look->cells[i].id, look->cells[i - 1].id) == 0)
      return differ(err, look, "two cells have the id %.64s",
                    look->cells[i].id);
  return 0;
}

static bool is_set_aside(int directory) {
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = copy < 0 ? NULL : fdopendir(copy);
  bool found = false;
  if (stream == NULL) {
    mem_close_descriptor(&copy);
    return false;
  }
  for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
    found |= strncmp(entry->d_name, LAYOUT_NOTEBOOK ".",
                     strlen(LAYOUT_NOTEBOOK ".")) == 0;
  closedir(stream);
  return found;
}

/* 0 with no notebook: there is no file. */
static int read_notebook(struct look *look, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  struct err fault = {0};
  look->taken_at = clock_wall_us();
  look->set_aside = is_set_aside(look->directory);
  if (fs_read_file(look->directory, LAYOUT_NOTEBOOK, &text, &fault) < 0) {
    if (fault.kind == ERR_NOT_FOUND)
      return 0;
    return err_set(err, fault.kind, "notebook of task %s: %.400s",
                   look->task->id, fault.text);
  }
  if (json_parse(text.data, text.length, &strict_rules, &look->notebook,
                 &fault) < 0)
    return differ(err, look, "it is not valid JSON: %.200s", fault.text);
  return list_cells(look, err);
}

/* The answer told that the notebook could not be kept up to date. */
static bool is_excused(const struct run_record *run) {
  for (size_t i = 0; i < json_length(run->notes); i++) {
    const char *note = json_text(json_at(run->notes, i));
    if (note != NULL && strncmp(note, "the notebook ", 13) == 0)
      return true;
  }
  return false;
}

static bool same_source(const struct run_record *run, const struct json *cell) {
  CLEANUP(json_done)
  struct json *source = mimebundle_plain_text(json_get(cell, "source"));
  return json_text_length(source) == run->code_length &&
         memcmp(json_text(source), run->code, run->code_length) == 0;
}

static int check_outputs(const struct look *look, const struct run_record *run,
                         const struct json *cell, struct err *err) {
  CLEANUP(json_done) struct json *stored = NULL;
  struct err fault = {0};
  if (run_outputs(look->store, run->id, &stored, &fault) < 0)
    return fault.kind == ERR_NOT_FOUND
               ? 0 /* retention was faster */
               : err_set(err, fault.kind, "%s", fault.text);
  CLEANUP(json_done)
  struct json *outputs = artifacts_resolve(look->directory, stored);
  if (outputs_agree(outputs, json_get(cell, "outputs"), true) ||
      run_is_unwritten(look->store, run->id, NULL) == 1)
    return 0;
  return differ(err, look, "cell %s has other outputs than run %s", run->cell,
                run->id);
}

/* What a run that was cut off has put out is unknown, and one that the kernel
 * refused left its cell as it was: only code and status are certain. */
static int check_cell(const struct look *look, const struct run_record *run,
                      const struct json *cell, struct err *err) {
  if (!same_source(run, cell))
    return differ(err, look, "cell %s has other code than run %s", run->cell,
                  run->id);
  if (run->status == RUN_NOT_RUN || is_excused(run))
    return 0;
  const struct json *ours = json_get(json_get(cell, "metadata"), "cellpost");
  const char *status = json_get_text(ours, "status");
  if ((status == NULL || strcmp(status, run_status_name(run->status)) != 0) &&
      run_is_unwritten(look->store, run->id, NULL) != 1)
    return differ(err, look, "cell %s says %.20s, run %s says %s", run->cell,
                  status == NULL ? "nothing" : status, run->id,
                  run_status_name(run->status));
  if (run->status == RUN_LOST)
    return 0;
  if (json_get_integer(cell, "execution_count", -1) != run->execution_count)
    return differ(err, look, "cell %s has another execution count than run %s",
                  run->cell, run->id);
  return check_outputs(look, run, cell, err);
}

/* Only runs of the task's present life that ended before the notebook was
 * read. */
static int check_run(struct look *look, const struct run_record *run,
                     struct err *err) {
  if (run->cell == NULL || run->started_at == 0 ||
      !run_status_is_final(run->status) || run->ended_at >= look->taken_at)
    return 0;
  const struct json *cell =
      look->notebook == NULL ? NULL : find_cell(look, run->cell);
  if (cell != NULL)
    return check_cell(look, run, cell, err);
  if (look->set_aside || is_excused(run) || run->status == RUN_LOST)
    return 0;
  if (look->missing++ == 0)
    differ(&look->first_missing, look,
           look->notebook == NULL ? "it is not there, but run %s has a cell"
                                  : "the cell of run %s is not there",
           run->id);
  return 0;
}

static int check_runs(struct look *look, struct err *err) {
  CLEANUP(mem_free_pointer) char *before = NULL;
  size_t count;
  int result = 0;
  bool older = false;
  do {
    struct run_record *runs = NULL;
    struct err fault = {0};
    if (run_list(look->store, look->task->id, before, NULL, RUN_WHOLE,
                 RUNS_AT_ONCE, &runs, &count, &fault) < 0)
      return before != NULL && fault.kind == ERR_NOT_FOUND
                 ? 0 /* retention was faster */
                 : err_set(err, fault.kind, "%s", fault.text);
    for (size_t i = 0; i < count && result == 0 && !older; i++) {
      older = runs[i].queued_at < look->task->created_at;
      if (!older)
        result = check_run(look, &runs[i], err);
    }
    if (count > 0) {
      free(before);
      before = mem_copy_text(runs[count - 1].id);
    }
    run_list_free(runs, count);
  } while (count == RUNS_AT_ONCE && result == 0 && !older);
  return result;
}

/* A cell names its run: there is, or was, such a run. */
static int check_name(const struct look *look, const struct cell *cell,
                      struct err *err) {
  const struct json *ours =
      json_get(json_get(cell->json, "metadata"), "cellpost");
  const char *name = json_get_text(ours, "run");
  CLEANUP(run_record_free) struct run_record run = {0};
  struct err fault = {0};
  if (name == NULL || run_get(look->store, name, &run, &fault) == 0)
    return 0;
  if (fault.kind != ERR_NOT_FOUND)
    return err_set(err, fault.kind, "%s", fault.text);
  int removed = verify_run_was_removed(look->store, name, err);
  if (removed != 0)
    return removed < 0 ? -1 : 0;
  return differ(err, look, "cell %.64s names run %.36s, which never was",
                cell->id, name);
}

static int check(struct look *look, struct verify_cells *ret, struct err *err) {
  int result = read_notebook(look, err);
  if (result == 0)
    result = check_runs(look, err);
  for (size_t i = 0; i < look->count && result == 0; i++)
    result = check_name(look, &look->cells[i], err);
  if (result == 0)
    *ret = (struct verify_cells){(int64_t)look->count, look->missing};
  if (result == 0 && look->missing > 0) {
    *err = look->first_missing;
    result = 2;
  }
  json_free(look->notebook);
  free(look->cells);
  return result;
}

int verify_notebook(struct store *store, int tasks_directory,
                    const struct task_record *task, struct verify_cells *ret,
                    struct err *err) {
  struct look look = {.store = store, .task = task};
  struct err fault = {0};
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_beneath(tasks_directory, task->id,
                                  O_RDONLY | O_DIRECTORY, 0, &fault);
  if (directory < 0) {
    if (fault.kind == ERR_NOT_FOUND && task->runs == 0)
      return 0;
    return differ(err, &look, "its directory cannot be opened: %.200s",
                  fault.text);
  }
  look.directory = directory;
  return check(&look, ret, err);
}
