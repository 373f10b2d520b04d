#include "core/run/admin/rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/jupyter/kernelspec.h"
#include "core/run/answer.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_notebook.h"
#include "core/store/event.h"
#include "core/store/run.h"
#include "core/store/task.h"

enum { AT_ONCE = 200 };

/* What becomes a cell: a run, or markdown. */
struct item {
  int64_t at;
  size_t number;         /* orders those of one moment */
  char id[ID_UUID_SIZE]; /* of the run, of the markdown's cell */
  struct json *source;   /* of markdown; NULL: a run */
};

struct rebuild {
  struct engine *engine;
  struct task_record task;
  struct item *items;
  size_t count;
  struct task_notebook slot;
  struct kernelspec *spec; /* or NULL: it is not here any more */
};

static void rebuild_free(struct rebuild *rebuild) {
  for (size_t i = 0; i < rebuild->count; i++)
    json_free(rebuild->items[i].source);
  free(rebuild->items);
  task_record_free(&rebuild->task);
  task_notebook_close(&rebuild->slot);
  kernelspec_free(rebuild->spec);
}

static void add_item(struct rebuild *rebuild, int64_t at, const char *id,
                     const struct json *source) {
  rebuild->items =
      mem_grow(rebuild->items, rebuild->count + 1, sizeof *rebuild->items);
  struct item *item = &rebuild->items[rebuild->count];
  *item = (struct item){
      .at = at, .number = rebuild->count++, .source = json_share(source)};
  memcpy(item->id, id, strnlen(id, ID_UUID_SIZE - 1));
}

static bool has_cell(const struct run_record *run) {
  return run->cell != NULL && run->started_at != 0 &&
         run_status_is_final(run->status);
}

/* Newest first, of the task's present life. */
static int add_runs(struct rebuild *rebuild, struct err *err) {
  CLEANUP(mem_free_pointer) char *before = NULL;
  size_t count;
  bool older = false;
  do {
    struct run_record *runs = NULL;
    if (run_list(rebuild->engine->store, rebuild->task.id, before, NULL,
                 RUN_BRIEF, AT_ONCE, &runs, &count, err) < 0)
      return -1;
    for (size_t i = 0; i < count && !older; i++) {
      older = runs[i].queued_at < rebuild->task.created_at;
      if (!older && has_cell(&runs[i]))
        add_item(rebuild, runs[i].started_at, runs[i].id, NULL);
    }
    if (count > 0) {
      free(before);
      before = mem_copy_text(runs[count - 1].id);
    }
    run_list_free(runs, count);
  } while (count == AT_ONCE && !older);
  return 0;
}

static void add_markdown(struct rebuild *rebuild,
                         const struct event_text *event) {
  CLEANUP(json_done) struct json *content = NULL;
  if (strcmp(event->kind, "cell.added") != 0 ||
      event->at < rebuild->task.created_at ||
      json_parse(event->content, strlen(event->content), &JSON_RULES_STORE,
                 &content, NULL) < 0)
    return;
  const char *id = json_get_text(content, "cell");
  const struct json *source = json_get(content, "source");
  if (id != NULL && json_text(source) != NULL)
    add_item(rebuild, event->at, id, source);
}

static int add_all_markdown(struct rebuild *rebuild, struct err *err) {
  int64_t after = 0;
  size_t count;
  do {
    struct event_text *events = NULL;
    if (event_list_texts(rebuild->engine->store, rebuild->task.id, after,
                         INT64_MAX, AT_ONCE, &events, &count, err) < 0)
      return -1;
    for (size_t i = 0; i < count; i++)
      add_markdown(rebuild, &events[i]);
    if (count > 0)
      after = events[count - 1].id;
    event_texts_free(events, count);
  } while (count == AT_ONCE);
  return 0;
}

static int compare_items(const void *a, const void *b) {
  const struct item *first = a, *second = b;
  if (first->at != second->at)
    return first->at < second->at ? -1 : 1;
  return first->number < second->number ? -1 : first->number > second->number;
}

static int write_run(struct rebuild *rebuild, const char *id, struct err *err) {
  CLEANUP(run_record_free) struct run_record run = {0};
  CLEANUP(json_done) struct json *stored = NULL;
  struct engine *engine = rebuild->engine;
  const struct kernelspec *spec = rebuild->spec;
  if (run_get(engine->store, id, &run, err) < 0 ||
      run_outputs(engine->store, id, &stored, err) < 0)
    return -1;
  CLEANUP(json_done)
  struct json *outputs = answer_outputs(engine, rebuild->task.id, stored);
  const struct task_notebook_kernel kernel = {
      .name = rebuild->task.kernelspec,
      .display_name = spec == NULL ? NULL : spec->display_name,
      .language = spec == NULL ? NULL : spec->language};
  const struct code_cell cell = {.id = run.cell,
                                 .source = run.code,
                                 .source_length = run.code_length,
                                 .execution_count = run.execution_count,
                                 .outputs = outputs,
                                 .tags = run.tags,
                                 .run = run.id,
                                 .status = run_status_name(run.status),
                                 .late = run.late_outputs > 0};
  return task_notebook_add_cell(engine, rebuild->task.id, &rebuild->slot,
                                &kernel, run.section, &cell, err);
}

static int write_items(struct rebuild *rebuild, struct err *err) {
  if (rebuild->count > 0)
    qsort(rebuild->items, rebuild->count, sizeof *rebuild->items,
          compare_items);
  struct notebook *notebook = task_notebook_begin(
      rebuild->engine, rebuild->task.id, &rebuild->slot, err);
  int result = notebook == NULL ? -1 : 0;
  for (size_t i = 0; i < rebuild->count && result == 0; i++) {
    const struct item *item = &rebuild->items[i];
    result = item->source == NULL
                 ? write_run(rebuild, item->id, err)
                 : notebook_append_markdown(
                       notebook, item->id, json_text(item->source),
                       json_text_length(item->source), err);
  }
  return result;
}

/* We have the turn. */
static int rebuild_now(struct rebuild *rebuild, const char *task,
                       char **set_aside, struct err *err) {
  struct engine *engine = rebuild->engine;
  if (task_get(engine->store, task, &rebuild->task, err) < 0)
    return -1;
  kernelspec_find(engine->conf->kernelspec_path, rebuild->task.kernelspec,
                  &rebuild->spec, NULL);
  if (add_runs(rebuild, err) < 0 || add_all_markdown(rebuild, err) < 0 ||
      write_items(rebuild, err) < 0)
    return -1;
  *set_aside = MEM_STEAL(rebuild->slot.set_aside);
  return (int)rebuild->count;
}

int rebuild_notebook(struct engine *engine, const char *task, char **set_aside,
                     struct err *err) {
  CLEANUP(rebuild_free) struct rebuild rebuild = {.engine = engine};
  struct queue_entry *entry = NULL;
  *set_aside = NULL;
  if (queue_join_aside(engine->queues, task, &entry, err) < 0)
    return -1;
  int result = queue_wait(entry, err);
  if (result == 0)
    result = rebuild_now(&rebuild, task, set_aside, err);
  queue_leave(entry);
  return result;
}
