#include "core/run/late.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/notebook/collector.h"
#include "core/run/answer.h"
#include "core/run/engine_private.h"
#include "core/run/place.h"
#include "core/store/event.h"
#include "core/store/run.h"

/* How often idle kernels are looked at. */
#define ROUND_MS 100
/* Channels of kernels that ended unseen are looked for every so many rounds. */
#define SWEEP_ROUNDS 30
/* And so often what the registry could not take is tried again. */
#define RETRY_ROUNDS 10
/* Messages taken in one visit, so that a thread which prints without a pause
 * does not keep runs from their turn. */
#define DRAIN_MOST 4096

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

void late_take(struct engine *engine, const char *task,
               struct lease_memory *memory, struct late_batch *batch,
               const struct message *message) {
  if (!is_output(message->type))
    return;
  const char *run = lease_recall(memory, message->parent_id);
  if (run == NULL)
    run = "";
  if (batch->collector != NULL && strcmp(batch->run, run) != 0)
    late_flush(engine, task, memory, batch);
  if (batch->collector == NULL) {
    batch->collector = new_collector(engine);
    snprintf(batch->run, sizeof batch->run, "%s", run);
  }
  collector_add(batch->collector, message->type, message->content);
}

static void tell_aside(struct engine *engine, const char *task,
                       const char *name) {
  CLEANUP(mem_free_pointer) char *owned_task = mem_copy_text(task);
  char kind[] = "notebook.set_aside";
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "name", name);
  struct event_record event = {
      .task = owned_task, .kind = kind, .content = content};
  struct err err = {0};
  log_warning(LAYOUT_NOTEBOOK " of task %s was no notebook that could be kept "
                              "whole; the file is now %s",
              task, name);
  if (event_append(engine->store, &event, 1, &err) < 0)
    log_error("that a notebook of task %s was set aside is not in the event "
              "log: %s",
              task, err.text);
}

struct notebook *late_notebook(struct engine *engine, const char *task,
                               struct lease_memory *memory, struct err *err) {
  if (memory->notebook != NULL && !notebook_is_stale(memory->notebook))
    return memory->notebook;
  notebook_done(&memory->notebook);
  memory->described = NULL;
  CLEANUP(mem_close_descriptor) int directory = place_open(engine, task, err);
  if (directory < 0)
    return NULL;
  CLEANUP(mem_free_pointer) char *aside = NULL;
  if (notebook_open(directory, engine_sync(engine), &memory->notebook, &aside,
                    err) < 0)
    return NULL;
  if (engine->later != NULL)
    notebook_sync_later(memory->notebook, engine->later);
  if (aside != NULL) {
    tell_aside(engine, task, aside);
    free(memory->aside);
    memory->aside = MEM_STEAL(aside);
  }
  return memory->notebook;
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

static void record(struct engine *engine, const char *task,
                   struct lease_memory *memory, const char *run,
                   const struct json *outputs,
                   const struct collector *collector) {
  CLEANUP(mem_free_pointer)
  struct run_display *displays =
      mem_array(json_length(outputs), sizeof *displays);
  size_t display_count =
      answer_displays(collector, json_length(outputs), displays);
  struct err err = {0}, fault = {0};
  if (run_add_late(engine->store, run, outputs, displays, display_count,
                   &fault) < 0)
    log_error("late output of run %s is not in the registry: %s", run,
              fault.text);
  struct notebook *notebook = late_notebook(engine, task, memory, &err);
  if (notebook == NULL || (notebook_has_cell(notebook, run) &&
                           notebook_add_late(notebook, run, outputs, &err) < 0))
    log_error("late output of run %s is not in the notebook: %s", run,
              err.text);
  else if (fault.kind == ERR_NONE)
    run_note_written(engine->store, run, NULL);
}

/* Where it is counted how much a run (or none) has put out late. */
static uint64_t *late_bytes(struct lease_memory *memory, const char *run) {
  for (unsigned i = 0; *run != '\0' && i < LEASE_RECENT; i++)
    if (strcmp(memory->recent[i].run, run) == 0)
      return &memory->recent[i].late_bytes;
  return &memory->orphan_bytes;
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

static void flush_outputs(struct engine *engine, const char *task,
                          struct lease_memory *memory,
                          const struct late_batch *batch) {
  CLEANUP(json_done) struct json *outputs = collector_outputs(batch->collector);
  if (json_length(outputs) == 0 ||
      !keep(engine, late_bytes(memory, batch->run),
            collector_bytes(batch->collector), outputs))
    return;
  if (batch->run[0] == '\0')
    record_orphan(engine, task, outputs);
  else
    record(engine, task, memory, batch->run, outputs, batch->collector);
  late_told_add(&memory->late, batch->run, outputs, 0);
}

void late_flush(struct engine *engine, const char *task,
                struct lease_memory *memory, struct late_batch *batch) {
  if (batch->collector == NULL)
    return;
  struct collector_update update;
  while (collector_take_update(batch->collector, &update) == 1) {
    late_update(engine, task, memory, &update);
    collector_update_free(&update);
  }
  flush_outputs(engine, task, memory, batch);
  collector_done(&batch->collector);
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

void late_update(struct engine *engine, const char *task,
                 struct lease_memory *memory,
                 const struct collector_update *update) {
  struct run_display_place *places = NULL;
  size_t count = 0;
  struct err err = {0};
  if (run_find_display(engine->store, task, memory->kernel.id,
                       update->display_id, &places, &count, &err) < 0) {
    log_error("display %s of task %s: %s", update->display_id, task, err.text);
    return;
  }
  struct notebook *notebook =
      count == 0 ? NULL : late_notebook(engine, task, memory, &err);
  for (size_t i = 0; i < count; i++)
    update_place(engine, notebook, &places[i], update);
  run_display_places_free(places, count);
}

/* Whether anything waits on an idle channel; shell and control replies to
 * nudges are thrown away on the way. */
static bool drain(struct engine *engine, struct cached_channel *cached,
                  struct turn *turn) {
  int mask = channel_wait(cached->channel, NULL, 0, 0, NULL);
  if (mask <= 0 || !turn_lock(turn))
    return mask >= 0;
  struct lease_memory *memory = cached->attachment;
  struct late_batch batch = {0};
  for (int name = 0; name < CHANNEL_HEARTBEAT; name++) {
    for (int i = 0; i < DRAIN_MOST; i++) {
      CLEANUP(message_free) struct message message = {0};
      if (channel_receive(cached->channel, (enum channel_name)name, &message,
                          NULL) <= 0)
        break;
      if (name == CHANNEL_IOPUB)
        late_take(engine, cached->task, memory, &batch, &message);
    }
  }
  late_flush(engine, cached->task, memory, &batch);
  return true;
}

static bool has_ended(struct engine *engine, const char *kernel_id) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  return kernel_get(engine->store, kernel_id, &kernel, NULL) == 0 &&
         kernel.ended_at != 0;
}

/* The channel is taken only while the task's turn is ours, so that no run
 * ever finds its channel missing. */
static void visit(struct engine *engine, const char *task,
                  const char *kernel_id, bool sweep) {
  struct turn *turn = turn_try(engine->turns, task);
  if (turn == NULL)
    return;
  struct cached_channel *cached = channel_cache_take(engine->cache, kernel_id);
  if (cached != NULL) {
    if (drain(engine, cached, turn) && !(sweep && has_ended(engine, kernel_id)))
      channel_cache_give(engine->cache, cached);
    else
      cached_channel_free(cached);
  }
  turn_leave(turn);
}

void *late_janitor(void *argument) {
  struct engine *engine = argument;
  for (unsigned round = 1;; round++) {
    struct pollfd stop = {engine->janitor_stop, POLLIN, 0};
    if (poll(&stop, 1, ROUND_MS) > 0)
      return NULL;
    if (round % RETRY_ROUNDS == 0)
      endings_retry(engine->endings, engine->store, engine->tasks_directory);
    size_t count = 0;
    CLEANUP(mem_free_pointer)
    struct channel_cache_name *names =
        channel_cache_names(engine->cache, &count);
    for (size_t i = 0; i < count; i++)
      visit(engine, names[i].task, names[i].kernel_id,
            round % SWEEP_ROUNDS == 0);
  }
}
