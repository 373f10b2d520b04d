#include "core/run/engine/task_notebook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_directory.h"
#include "core/store/event.h"

/* "section-" and 16 digits of the heading's digest; then, when it is not the
 * first heading of that section, "-" and its number. */
#define SECTION_ID_SIZE 48

void task_notebook_close(struct task_notebook *slot) {
  notebook_close(slot->notebook);
  free(slot->set_aside);
  *slot = (struct task_notebook){0};
}

static void tell_set_aside(struct engine *engine, const char *task,
                           const char *name) {
  CLEANUP(mem_free_pointer) char *owned_task = mem_copy_text(task);
  char kind[] = "notebook.set_aside";
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "name", name);
  struct event_record event = {
      .task = owned_task, .kind = kind, .content = content};
  struct err err = {0};
  log_warning("the notebook.ipynb of task %s was set aside: it is now %s", task,
              name);
  if (event_append(engine->store, &event, 1, &err) < 0)
    log_error("that a notebook of task %s was set aside is not in the event "
              "log: %s",
              task, err.text);
}

/* As notebook_open. */
typedef int opener(int task_directory, enum fs_sync sync, struct notebook **ret,
                   char **set_aside, struct err *err);

static struct notebook *open_by(opener *open, struct engine *engine,
                                const char *task, struct task_notebook *slot,
                                struct err *err) {
  notebook_done(&slot->notebook);
  slot->has_kernel = false;
  CLEANUP(mem_close_descriptor)
  int directory = task_directory_open(engine, task, err);
  CLEANUP(mem_free_pointer) char *set_aside = NULL;
  if (directory < 0 || open(directory, engine_sync(engine), &slot->notebook,
                            &set_aside, err) < 0)
    return NULL;
  if (engine->later != NULL)
    notebook_sync_later(slot->notebook, engine->later);
  if (set_aside != NULL) {
    tell_set_aside(engine, task, set_aside);
    free(slot->set_aside);
    slot->set_aside = MEM_STEAL(set_aside);
  }
  return slot->notebook;
}

struct notebook *task_notebook_open(struct engine *engine, const char *task,
                                    struct task_notebook *slot,
                                    struct err *err) {
  return slot->notebook != NULL && !notebook_is_stale(slot->notebook)
             ? slot->notebook
             : open_by(notebook_open, engine, task, slot, err);
}

struct notebook *task_notebook_begin(struct engine *engine, const char *task,
                                     struct task_notebook *slot,
                                     struct err *err) {
  return open_by(notebook_open_anew, engine, task, slot, err);
}

static bool is_heading_of(const char *id, const char *first) {
  size_t length = strlen(first);
  return id != NULL && strncmp(id, first, length) == 0 &&
         (id[length] == '\0' || id[length] == '-');
}

/* A section that is taken up again gets a heading again. */
static int add_heading(struct notebook *notebook, const char *section,
                       struct err *err) {
  CLEANUP(mem_free_pointer) char *heading = mem_format("## %s", section);
  char digest[CRYPTO_SHA256_HEX], first[SECTION_ID_SIZE];
  crypto_sha256(heading, strlen(heading), digest);
  snprintf(first, sizeof first, NOTEBOOK_SECTION "%.16s", digest);
  if (is_heading_of(notebook_last_section(notebook), first))
    return 0;
  char id[SECTION_ID_SIZE];
  memcpy(id, first, sizeof id);
  for (int number = 2; notebook_has_cell(notebook, id); number++)
    snprintf(id, sizeof id, "%.24s-%d", first, number);
  return notebook_append_markdown(notebook, id, heading, strlen(heading), err);
}

static int set_kernel(struct task_notebook *slot,
                      const struct task_notebook_kernel *kernel,
                      struct err *err) {
  if (slot->has_kernel)
    return 0;
  if (notebook_set_kernel(slot->notebook, kernel->name, kernel->display_name,
                          kernel->language, kernel->language_info, err) < 0)
    return -1;
  slot->has_kernel = true;
  return 0;
}

int task_notebook_make(struct engine *engine, const char *task,
                       struct task_notebook *slot,
                       const struct task_notebook_kernel *kernel,
                       struct err *err) {
  return task_notebook_open(engine, task, slot, err) == NULL
             ? -1
             : set_kernel(slot, kernel, err);
}

int task_notebook_add_cell(struct engine *engine, const char *task,
                           struct task_notebook *slot,
                           const struct task_notebook_kernel *kernel,
                           const char *section, const struct code_cell *cell,
                           struct err *err) {
  struct notebook *notebook = task_notebook_open(engine, task, slot, err);
  if (notebook == NULL || set_kernel(slot, kernel, err) < 0 ||
      (section != NULL && add_heading(notebook, section, err) < 0))
    return -1;
  return notebook_append_code(notebook, cell, err);
}

int task_notebook_put(struct engine *engine, const char *task,
                      struct task_notebook *slot,
                      const struct task_notebook_kernel *kernel,
                      const struct code_cell *cell, struct err *err) {
  struct notebook *notebook = task_notebook_open(engine, task, slot, err);
  return notebook == NULL || set_kernel(slot, kernel, err) < 0
             ? -1
             : notebook_put_code(notebook, cell, err);
}
