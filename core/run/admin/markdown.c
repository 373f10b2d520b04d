#include "core/run/admin/markdown.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/accept.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/known_kernel.h"
#include "core/store/event.h"

/* A markdown cell on its way into the notebook. */
struct addition {
  char id[ID_UUID_SIZE];
  const char *task, *source, *by;
  size_t length;
  char *aside; /* the file that stood in the notebook's place, or NULL */
};

static int append_to(struct engine *engine, struct addition *addition,
                     struct task_notebook *slot, struct err *err) {
  struct notebook *notebook =
      task_notebook_open(engine, addition->task, slot, err);
  int result =
      notebook == NULL
          ? -1
          : notebook_append_markdown(notebook, addition->id, addition->source,
                                     addition->length, err);
  addition->aside = MEM_STEAL(slot->set_aside);
  return result;
}

/* Beside an open channel of the task, the notebook is open already. */
static int append(struct engine *engine, struct addition *addition,
                  struct err *err) {
  CLEANUP(task_notebook_close) struct task_notebook slot = {0};
  struct cached_channel *cached = idle_take(engine->idle, addition->task);
  if (cached == NULL)
    return append_to(engine, addition, &slot, err);
  struct known_kernel *known = cached->attachment;
  int result = append_to(engine, addition, &known->notebook, err);
  idle_give(engine->idle, cached, known->process);
  return result;
}

static int append_in_turn(struct engine *engine, struct addition *addition,
                          struct err *err) {
  struct queue_entry *entry = NULL;
  if (queue_join(engine->queues, addition->task, &entry, err) < 0)
    return -1;
  int result = queue_wait(entry, err);
  if (result == 0)
    result = append(engine, addition, err);
  queue_leave(entry);
  return result;
}

static int record(struct engine *engine, const struct addition *addition,
                  struct err *err) {
  CLEANUP(mem_free_pointer) char *task = mem_copy_text(addition->task);
  char kind[] = "cell.added";
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "cell", addition->id);
  json_set_text(content, "cell_type", "markdown");
  json_set(content, "source",
           json_string_n(addition->source, addition->length));
  json_set_text(content, "caller", addition->by);
  struct event_record event = {
      .at = clock_wall_us(), .task = task, .kind = kind, .content = content};
  return event_append(engine->store, &event, 1, err);
}

static void add_note(struct json *notes, const char *fact, const char *what) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  buf_format(&text, "%s: %s", fact, what);
  json_push(notes, json_string(buf_string(&text)));
}

/* The cell is in the notebook: what went wrong beside it is told. */
static struct json *describe(struct engine *engine,
                             const struct addition *addition) {
  struct json *notes = json_array();
  struct err err = {0};
  if (record(engine, addition, &err) < 0)
    add_note(notes, "the cell is not in the event log", err.text);
  if (addition->aside != NULL)
    add_note(notes,
             "the notebook.ipynb that was there could not be kept whole; it "
             "is now",
             addition->aside);
  struct json *object = json_object();
  json_set_text(object, "task", addition->task);
  json_set_text(object, "cell", addition->id);
  CLEANUP(mem_free_pointer)
  char *notebook =
      mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_NOTEBOOK, addition->task);
  json_set_text(object, "notebook", notebook);
  json_set(object, "notes", notes);
  return object;
}

int markdown_add(struct engine *engine, const char *task, const char *source,
                 size_t length, const char *by, struct json **ret,
                 struct err *err) {
  if (length > (size_t)engine->conf->code_bytes)
    return err_set(err, ERR_TOO_LARGE,
                   "the cell has %zu bytes; at most %lld are taken", length,
                   (long long)engine->conf->code_bytes);
  struct addition addition = {
      .task = task, .source = source, .length = length, .by = by};
  id_new(addition.id);
  int result = accept_task(engine, task, by, err);
  if (result == 0)
    result = append_in_turn(engine, &addition, err);
  if (result == 0)
    *ret = describe(engine, &addition);
  free(addition.aside);
  return result;
}
