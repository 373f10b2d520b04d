#include "core/run/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/engine_private.h"
#include "core/run/late.h"
#include "core/run/lease.h"
#include "core/run/place.h"
#include "core/run/ticket.h"
#include "core/store/event.h"
#include "core/store/kernel.h"

/* "section-" and 16 digits of the heading's digest; then, when it is not the
 * first heading of that section, "-" and its number. */
#define SECTION_ID_SIZE 48

static bool is_of(const char *id, const char *first) {
  size_t length = strlen(first);
  return id != NULL && strncmp(id, first, length) == 0 &&
         (id[length] == '\0' || id[length] == '-');
}

int cells_add_section(struct notebook *notebook, const char *section,
                      struct err *err) {
  CLEANUP(mem_free_pointer) char *heading = mem_format("## %s", section);
  char digest[CRYPTO_SHA256_HEX], first[SECTION_ID_SIZE];
  crypto_sha256(heading, strlen(heading), digest);
  snprintf(first, sizeof first, NOTEBOOK_SECTION "%.16s", digest);
  if (is_of(notebook_last_section(notebook), first))
    return 0;
  char id[SECTION_ID_SIZE];
  memcpy(id, first, sizeof id);
  for (int number = 2; notebook_has_cell(notebook, id); number++)
    snprintf(id, sizeof id, "%.24s-%d", first, number);
  return notebook_append_markdown(notebook, id, heading, strlen(heading), err);
}

/* A markdown cell on its way into the notebook. */
struct addition {
  char id[ID_UUID_SIZE];
  const char *task, *source, *by;
  size_t length;
  char *aside; /* the file that stood in the notebook's place, or NULL */
};

/* Without an open channel to the task's kernel. */
static int append_alone(struct engine *engine, struct addition *addition,
                        struct err *err) {
  struct lease_memory memory = {0};
  struct notebook *notebook =
      late_notebook(engine, addition->task, &memory, err);
  int result =
      notebook == NULL
          ? -1
          : notebook_append_markdown(notebook, addition->id, addition->source,
                                     addition->length, err);
  notebook_close(notebook);
  addition->aside = memory.aside;
  return result;
}

/* A channel's memory has the notebook open already. */
static int append(struct engine *engine, struct addition *addition,
                  struct err *err) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  struct cached_channel *cached = NULL;
  if (kernel_latest(engine->store, addition->task, &kernel, NULL) == 0)
    cached = channel_cache_take(engine->cache, kernel.id);
  if (cached == NULL)
    return append_alone(engine, addition, err);
  struct lease_memory *memory = cached->attachment;
  struct notebook *notebook =
      late_notebook(engine, addition->task, memory, err);
  int result =
      notebook == NULL
          ? -1
          : notebook_append_markdown(notebook, addition->id, addition->source,
                                     addition->length, err);
  addition->aside = MEM_STEAL(memory->aside);
  channel_cache_give(engine->cache, cached);
  return result;
}

static int append_in_turn(struct engine *engine, struct addition *addition,
                          struct err *err) {
  struct turn *turn = NULL;
  if (turn_join(engine->turns, addition->task, &turn, err) < 0)
    return -1;
  int result = turn_wait(turn, err);
  if (result == 0)
    result = append(engine, addition, err);
  turn_leave(turn);
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

/* The cell stands in the notebook: what went wrong beside it is told. */
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

int cells_add_markdown(struct engine *engine, const char *task,
                       const char *source, size_t length, const char *by,
                       struct json **ret, struct err *err) {
  if (length > (size_t)engine->conf->code_bytes)
    return err_set(err, ERR_TOO_LARGE,
                   "the cell has %zu bytes; at most %lld are taken", length,
                   (long long)engine->conf->code_bytes);
  struct addition addition = {
      .task = task, .source = source, .length = length, .by = by};
  id_new(addition.id);
  int result = ticket_have_task(engine, task, by, err);
  if (result == 0)
    result = append_in_turn(engine, &addition, err);
  if (result == 0)
    *ret = describe(engine, &addition);
  free(addition.aside);
  return result;
}
