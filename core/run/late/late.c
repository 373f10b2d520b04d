#include "core/run/late/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/late/displays.h"
#include "core/store/event.h"
#include "core/store/run.h"

static bool is_output(const char *type) {
  static const char *const types[] = {"stream", "display_data",
                                      "execute_result", "error",
                                      "update_display_data"};
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strcmp(type, types[i]) == 0)
      return true;
  return false;
}

static struct collector *new_collector(const struct engine *engine) {
  const struct conf *conf = engine->conf;
  struct output_limits limits = {
      .bytes = (size_t)conf->output_bytes,
      .outputs = (size_t)conf->outputs,
      .image_bytes = (size_t)conf->image_bytes,
  };
  return collector_new(&limits);
}

void late_take(struct engine *engine, struct known_kernel *known,
               struct late_batch *batch, const struct message *message) {
  if (!is_output(message->type))
    return;
  const char *run = known_kernel_run(known, message->parent_id);
  if (run == NULL)
    run = "";
  if (batch->collector != NULL && strcmp(batch->run, run) != 0)
    late_flush(engine, known, batch);
  if (batch->collector == NULL) {
    batch->collector = new_collector(engine);
    snprintf(batch->run, sizeof batch->run, "%s", run);
  }
  collector_add(batch->collector, message->type, message->content);
}

static void record_orphan(struct engine *engine, const char *task,
                          const struct json *outputs) {
  CLEANUP(mem_free_pointer) char *owned_task = mem_copy_text(task);
  char kind[] = "kernel.output";
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "outputs", json_share(outputs));
  struct event_record event = {.at = clock_wall_us(),
                               .task = owned_task,
                               .kind = kind,
                               .content = content};
  struct err err = {0};
  if (event_append(engine->store, &event, 1, &err) < 0)
    log_error("late output of task %s is not in the event log: %s", task,
              err.text);
}

static void record(struct engine *engine, struct known_kernel *known,
                   const struct late_batch *batch, const struct json *outputs) {
  const char *run = batch->run;
  CLEANUP(mem_free_pointer)
  struct run_display *displays =
      mem_array(json_length(outputs), sizeof *displays);
  size_t display_count =
      displays_list(batch->collector, json_length(outputs), displays);
  struct err err = {0}, fault = {0};
  if (run_add_late(engine->store, run, outputs, displays, display_count,
                   &fault) < 0)
    log_error("late output of run %s is not in the registry: %s", run,
              fault.text);
  struct notebook *notebook =
      task_notebook_open(engine, known->kernel.task, &known->notebook, &err);
  if (notebook == NULL || (notebook_has_cell(notebook, run) &&
                           notebook_add_late(notebook, run, outputs, &err) < 0))
    log_error("late output of run %s is not in the notebook: %s", run,
              err.text);
  else if (fault.kind == ERR_NONE)
    run_note_written(engine->store, run, NULL);
}

/* A thread may print for ever; what is kept of it has the bounds of a run. The
 * last output kept says that there is more. False: nothing is kept any more. */
static bool keep(const struct engine *engine, uint64_t *so_far, uint64_t bytes,
                 struct json *outputs) {
  uint64_t most = (uint64_t)engine->conf->output_bytes;
  if (*so_far > most)
    return false;
  *so_far += bytes;
  if (*so_far > most) {
    struct json *last = json_object();
    json_set_text(last, "output_type", "stream");
    json_set_text(last, "name", "stderr");
    json_set_text(last, "text",
                  "[… what this run puts out from here on is not kept: it goes "
                  "on after its end and is over the limit …]\n");
    json_push(outputs, last);
  }
  return true;
}

static void flush_outputs(struct engine *engine, struct known_kernel *known,
                          const struct late_batch *batch) {
  CLEANUP(json_done)
  struct json *outputs = collector_outputs(batch->collector);
  if (json_length(outputs) == 0 ||
      !keep(engine, known_kernel_late_bytes(known, batch->run),
            collector_bytes(batch->collector), outputs))
    return;
  if (batch->run[0] == '\0')
    record_orphan(engine, known->kernel.task, outputs);
  else
    record(engine, known, batch, outputs);
  late_told_add(&known->late, batch->run, outputs, 0);
}

void late_flush(struct engine *engine, struct known_kernel *known,
                struct late_batch *batch) {
  if (batch->collector == NULL)
    return;
  displays_update(engine, known, batch->collector);
  flush_outputs(engine, known, batch);
  collector_done(&batch->collector);
}
