#include "core/run/late/displays.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"

size_t displays_list(const struct collector *collector, size_t count,
                     struct run_display *ret) {
  size_t found = 0;
  CLEANUP(mem_free_pointer) const char **ids = mem_array(count, sizeof *ids);
  collector_display_ids(collector, ids, count);
  for (size_t i = 0; i < count; i++)
    if (ids[i] != NULL)
      ret[found++] = (struct run_display){ids[i], i};
  return found;
}

/* Places that are updated: the same ones in the registry and the notebook. */
struct batch {
  struct run_output_change *changes; /* run and values are owned */
  struct notebook_update *updates;   /* borrow them */
  size_t count, capacity;
};

static void batch_free(struct batch *batch) {
  for (size_t i = 0; i < batch->count; i++) {
    free((char *)(uintptr_t)batch->changes[i].run);
    json_free((struct json *)(uintptr_t)batch->changes[i].data);
    json_free((struct json *)(uintptr_t)batch->changes[i].metadata);
  }
  free(batch->changes);
  free(batch->updates);
}

static void batch_add(struct batch *batch,
                      const struct run_display_place *place,
                      const struct display_update *update) {
  if (batch->count == batch->capacity) {
    batch->capacity = 2 * batch->capacity + 16;
    batch->changes =
        mem_grow(batch->changes, batch->capacity, sizeof *batch->changes);
    batch->updates =
        mem_grow(batch->updates, batch->capacity, sizeof *batch->updates);
  }
  struct run_output_change *change = &batch->changes[batch->count];
  *change =
      (struct run_output_change){.run = mem_copy_text(place->run),
                                 .position = place->position,
                                 .data = json_share(update->data),
                                 .metadata = json_share(update->metadata)};
  batch->updates[batch->count++] =
      (struct notebook_update){.id = change->run,
                               .position = place->cell_position,
                               .data = change->data,
                               .metadata = change->metadata};
}

static void find_places(struct engine *engine, const struct known_kernel *known,
                        const struct display_update *update,
                        struct batch *batch) {
  const char *task = known->kernel.task;
  struct run_display_place *places = NULL;
  size_t count = 0;
  struct err err = {0};
  if (run_find_display(engine->store, task, known->kernel.id,
                       update->display_id, &places, &count, &err) < 0) {
    log_error("display %s of task %s: %s", update->display_id, task, err.text);
    return;
  }
  for (size_t i = 0; i < count; i++)
    batch_add(batch, &places[i], update);
  run_display_places_free(places, count);
}

/* Runs of which all updates are in the notebook, or that have no cell. */
static void note_written(struct engine *engine, const struct notebook *notebook,
                         const struct batch *batch) {
  for (size_t i = 0, end; i < batch->count; i = end) {
    const char *run = batch->changes[i].run;
    bool done = true;
    for (end = i;
         end < batch->count && strcmp(batch->changes[end].run, run) == 0; end++)
      done &= batch->updates[end].done;
    if (done || !notebook_has_cell(notebook, run))
      run_note_written(engine->store, run, NULL);
    else
      log_error("a display update of run %s is not in the notebook", run);
  }
}

/* The registry first: what it has the notebook can be given again. */
static void write_batch(struct engine *engine, struct known_kernel *known,
                        struct batch *batch) {
  const char *task = known->kernel.task;
  struct err err = {0}, fault = {0};
  if (run_update_outputs(engine->store, batch->changes, batch->count, &fault) <
      0)
    log_error("display updates of task %s are not in the registry: %s", task,
              fault.text);
  struct notebook *notebook =
      task_notebook_open(engine, task, &known->notebook, &err);
  if (notebook == NULL ||
      notebook_update_outputs(notebook, batch->updates, batch->count, &err) < 0)
    log_error("display updates of task %s are not in the notebook: %s", task,
              err.text);
  else if (fault.kind == ERR_NONE)
    note_written(engine, notebook, batch);
}

void displays_update(struct engine *engine, struct known_kernel *known,
                     struct collector *collector) {
  CLEANUP(batch_free) struct batch batch = {0};
  struct display_update next;
  while (collector_take_update(collector, &next) == 1) {
    find_places(engine, known, &next, &batch);
    display_update_free(&next);
  }
  if (batch.count > 0)
    write_batch(engine, known, &batch);
}
