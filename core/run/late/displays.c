#include "core/run/late/displays.h"

#include <stdlib.h>

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

/* The registry first: what it has the notebook can be given again. */
static void update_place(struct engine *engine, struct notebook *notebook,
                         const struct run_display_place *place,
                         const struct collector_update *update) {
  struct err err = {0}, fault = {0};
  if (run_update_output(engine->store, place->run, place->position,
                        update->data, update->metadata, &fault) < 0)
    log_error("display update of run %s is not in the registry: %s", place->run,
              fault.text);
  if (notebook == NULL)
    return;
  if (notebook_has_cell(notebook, place->run) &&
      notebook_update_output(notebook, place->run, place->cell_position,
                             update->data, update->metadata, &err) < 0)
    log_error("display update of run %s is not in the notebook: %s", place->run,
              err.text);
  else if (fault.kind == ERR_NONE)
    run_note_written(engine->store, place->run, NULL);
}

static void update(struct engine *engine, struct known_kernel *known,
                   const struct collector_update *update) {
  const char *task = known->kernel.task;
  struct run_display_place *places = NULL;
  size_t count = 0;
  struct err err = {0};
  if (run_find_display(engine->store, task, known->kernel.id,
                       update->display_id, &places, &count, &err) < 0) {
    log_error("display %s of task %s: %s", update->display_id, task, err.text);
    return;
  }
  struct notebook *notebook =
      count == 0 ? NULL
                 : task_notebook_open(engine, task, &known->notebook, &err);
  for (size_t i = 0; i < count; i++)
    update_place(engine, notebook, &places[i], update);
  run_display_places_free(places, count);
}

void displays_update(struct engine *engine, struct known_kernel *known,
                     struct collector *collector) {
  struct collector_update next;
  while (collector_take_update(collector, &next) == 1) {
    update(engine, known, &next);
    collector_update_free(&next);
  }
}
