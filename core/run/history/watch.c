#include "core/run/history/watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/admin/admin.h"
#include "core/run/engine/engine_private.h"
#include "core/store/access/token.h"
#include "core/store/event.h"
#include "core/store/run.h"

/* Open runs of all tasks that are told at the most, of each status. */
#define RUNS_MOST 1000

void watch_start_free(struct watch_start *start) {
  json_free(start->state);
  free(start->fences);
  *start = (struct watch_start){0};
}

static void set_unless_zero(struct json *object, const char *key,
                            int64_t value) {
  json_set(object, key, value == 0 ? NULL : json_integer(value));
}

static struct json *describe(const struct run_record *run) {
  struct json *object = json_object();
  json_set_text(object, "run", run->id);
  json_set_text(object, "task", run->task);
  json_set_integer(object, "number", run->number);
  json_set_text(object, "status", run_status_name(run->status));
  json_set_text(object, "caller", run->caller);
  json_set_boolean(object, "silent", run->silent);
  json_set_text(object, "section", run->section);
  json_set(object, "code", json_string_n(run->code, run->code_length));
  /* A watcher may be slow, and is told of many runs. */
  json_set_boolean(object, "code_cut", run->code_length > RUN_SHOWN_CODE - 4);
  json_set_time(object, "queued", run->queued_at);
  json_set_time(object, "started", run->started_at);
  json_set_text(object, "cell", run->cell);
  set_unless_zero(object, "generation", run->generation);
  set_unless_zero(object, "timeout_ms", run->timeout_ms);
  json_set(object, "queue_position", NULL);
  json_set(object, "outputs", NULL);
  return object;
}

static void add_fence(struct engine *engine, const char *run,
                      const struct live_view *seen, struct watch_start *start) {
  int64_t oldest = 0, newest = 0;
  struct fence fence = {.end = seen->end};
  snprintf(fence.run, sizeof fence.run, "%s", run);
  /* Looked at later than the outputs: it is behind all that was recorded. */
  if (seen->recorded >= seen->end &&
      event_bounds(engine->store, &oldest, &newest, NULL) == 0)
    fence.until = newest;
  start->fences =
      mem_grow(start->fences, start->fence_count + 1, sizeof *start->fences);
  start->fences[start->fence_count++] = fence;
}

/* What this process alone knows of a run that it leads. */
static void add_view(struct engine *engine, const struct run_record *run,
                     struct json *object, struct watch_start *start) {
  struct live_view seen;
  if (!live_view(engine->live, run->id, &seen))
    return;
  json_set_integer(object, "queue_position", seen.position);
  json_set(object, "outputs", seen.outputs);
  /* The registry learns it a moment later. */
  if (seen.started)
    json_set_text(object, "status", run_status_name(RUN_RUNNING));
  add_fence(engine, run->id, &seen, start);
}

static int view_task(struct engine *engine, const char *task, struct json *runs,
                     struct watch_start *start, struct err *err) {
  struct json *description = NULL;
  if (admin_describe_task(engine, task, &description, err) < 0)
    return -1;
  json_set(start->state, "task", description);
  struct run_record *open = NULL;
  size_t count = 0;
  if (run_list_open(engine->store, task, RUN_SHOWN, &open, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++) {
    struct json *object = describe(&open[i]);
    add_view(engine, &open[i], object, start);
    json_push(runs, object);
  }
  run_list_free(open, count);
  return 0;
}

static int view_all(struct engine *engine, enum run_status status,
                    const struct rights *rights, struct json *runs,
                    struct err *err) {
  struct run_record *open = NULL;
  size_t count = 0;
  if (run_list(engine->store, NULL, NULL, run_status_name(status), RUN_SHOWN,
               RUNS_MOST, &open, &count, err) < 0)
    return -1;
  for (size_t i = count; i-- > 0;)
    if (token_may(engine->store, rights, open[i].task, NULL) == 1)
      json_push(runs, describe(&open[i]));
  run_list_free(open, count);
  return 0;
}

/* First the position, then the state: what comes between them is in both, and
 * nothing in neither. */
int watch_begin(struct engine *engine, const char *task,
                const struct rights *rights, struct watch_start *ret,
                struct err *err) {
  CLEANUP(watch_start_free) struct watch_start start = {0};
  int64_t oldest;
  if (event_bounds(engine->store, &oldest, &start.position, err) < 0)
    return -1;
  start.state = json_object();
  struct json *runs = json_array();
  json_set_integer(start.state, "position", start.position);
  json_set(start.state, "task", NULL);
  json_set(start.state, "runs", runs);
  int result = 0;
  if (task != NULL)
    result = view_task(engine, task, runs, &start, err);
  else if (view_all(engine, RUN_RUNNING, rights, runs, err) < 0 ||
           view_all(engine, RUN_QUEUED, rights, runs, err) < 0)
    result = -1;
  if (result < 0)
    return -1;
  *ret = start;
  start = (struct watch_start){0};
  return 0;
}

int watch_can_resume(struct engine *engine, int64_t after, struct err *err) {
  int64_t oldest, newest;
  if (event_bounds(engine->store, &oldest, &newest, err) < 0)
    return -1;
  return after <= newest && after + 1 >= oldest;
}
