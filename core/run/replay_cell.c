#include "core/run/replay_cell.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/outputs.h"
#include "core/report/text.h"
#include "core/run/collect/artifacts.h"
#include "core/run/collect/outcome.h"
#include "core/run/engine/engine_private.h"
#include "core/run/execute.h"

#define EXCERPT 400 /* characters */

void replay_cell_done(struct replay_cell *cell) {
  free(cell->reason);
  free(cell->before);
  free(cell->after);
  *cell = (struct replay_cell){0};
}

/* What cannot be run again in the same way; NULL: it can. */
static const char *why_skipped(const struct run_record *run) {
  if (json_get_integer(run->options, "stdin_lines", 0) > 0)
    return "it read lines of input, which are not kept";
  if (run->kernel_reason != NULL &&
      strncmp(run->kernel_reason, "the cell called exit()", 22) == 0)
    return "it ended its kernel";
  return NULL;
}

static char *excerpt(const struct json *outputs) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  struct text_source source = {
      .status = "ok", .outputs = outputs, .limit = EXCERPT};
  text_compose(&source, &text);
  return buf_take(&text);
}

static void compare(struct engine *engine, int task_directory,
                    const struct run_record *run, const struct json *now,
                    struct replay_cell *cell) {
  CLEANUP(json_done) struct json *stored = NULL;
  CLEANUP(json_done) struct json *then = NULL;
  if (run_outputs_at_end(engine->store, run->id, &stored, NULL) == 0)
    then = artifacts_resolve(task_directory, stored);
  cell->outcome = REPLAY_CELL_SAME;
  if (outputs_agree(then, now, false))
    return;
  cell->outcome = REPLAY_CELL_DIFFERENT;
  cell->before = excerpt(then);
  cell->after = excerpt(now);
}

static char *describe_error(const struct outcome *outcome) {
  const struct json *error = outcome_kernel_error(outcome);
  const char *name = json_get_text(error, "ename");
  const char *value = json_get_text(error, "evalue");
  if (name == NULL)
    return mem_copy_text(outcome->end.reason);
  return mem_format("%.100s: %.300s", name, value == NULL ? "" : value);
}

static void judge(struct engine *engine, const struct outcome *outcome,
                  int task_directory, const struct run_record *run,
                  struct replay_cell *cell) {
  cell->status = outcome_status(outcome);
  cell->died = outcome->died || outcome->abandoned;
  cell->cancelled = cell->status == RUN_INTERRUPTED;
  if (cell->status == RUN_OK) {
    compare(engine, task_directory, run, outcome->outputs, cell);
  } else {
    cell->outcome = REPLAY_CELL_FAILED;
    cell->reason = describe_error(outcome);
  }
}

static struct collector *new_collector(const struct conf *conf,
                                       const struct run_record *run) {
  const struct json *options = run->options;
  struct output_limits limits = {
      .bytes =
          (size_t)json_get_integer(options, "output_bytes", conf->output_bytes),
      .bytes_hard = (size_t)conf->output_bytes_hard,
      .outputs = (size_t)json_get_integer(options, "outputs", conf->outputs),
      .image_bytes =
          (size_t)json_get_integer(options, "image_bytes", conf->image_bytes),
  };
  return collector_new(&limits);
}

static void execute(struct engine *engine, struct session *session,
                    int task_directory, const struct run_record *stand_in,
                    const struct run_record *run, struct replay_cell *cell) {
  CLEANUP(outcome_free) struct outcome outcome = {0};
  CLEANUP(collector_done)
  struct collector *collector = new_collector(engine->conf, run);
  struct live_run *live =
      live_add(engine->live, stand_in->id, stand_in->task, NULL);
  live_started(live, collector, NULL);
  struct execute stage = {.engine = engine,
                          .live = live,
                          .session = session,
                          .record = stand_in,
                          .collector = collector,
                          .replay = true,
                          .outcome = &outcome};
  struct err err = {0};
  if (execute_cell(&stage, &err) < 0) {
    cell->outcome = REPLAY_CELL_FAILED;
    cell->status = RUN_NOT_RUN;
    cell->died = true;
    cell->reason = mem_copy_text(err.text);
  } else {
    outcome.outputs = collector_outputs(collector);
    outcome.output_bytes = (int64_t)collector_bytes(collector);
    judge(engine, &outcome, task_directory, run, cell);
  }
  live_started(live, NULL, NULL);
  live_remove(engine->live, live);
}

void replay_cell_run(struct engine *engine, struct session *session,
                     int task_directory, const char *replay,
                     const struct run_record *run, struct replay_cell *ret) {
  *ret = (struct replay_cell){.outcome = REPLAY_CELL_SKIPPED,
                              .reason = mem_copy_text(why_skipped(run))};
  if (ret->reason != NULL)
    return;
  /* The same cell under another name: nothing of it belongs to the first run.
   */
  struct run_record stand_in = *run;
  CLEANUP(mem_free_pointer) char *id = mem_copy_text(replay);
  stand_in.id = id;
  execute(engine, session, task_directory, &stand_in, run, ret);
}

struct json *replay_cell_describe(const struct run_record *run,
                                  const struct replay_cell *cell) {
  static const char *const names[] = {
      [REPLAY_CELL_SAME] = "same",
      [REPLAY_CELL_DIFFERENT] = "different",
      [REPLAY_CELL_FAILED] = "failed",
      [REPLAY_CELL_SKIPPED] = "skipped",
  };
  struct json *object = json_object();
  json_set_text(object, "run", run->id);
  json_set_text(object, "cell", run->cell);
  json_set_integer(object, "number", run->number);
  json_set_text(object, "what", names[cell->outcome]);
  if (cell->outcome == REPLAY_CELL_FAILED)
    json_set_text(object, "status", run_status_name(cell->status));
  if (cell->reason != NULL)
    json_set_text(object, "reason", cell->reason);
  if (cell->outcome == REPLAY_CELL_DIFFERENT) {
    json_set_text(object, "before", cell->before);
    json_set_text(object, "after", cell->after);
  }
  return object;
}
