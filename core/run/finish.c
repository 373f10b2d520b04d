#include "core/run/finish.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/collect/artifacts.h"
#include "core/run/engine/engine_private.h"
#include "core/run/late/displays.h"

static void write_notebook(const struct finish *finish) {
  struct code_cell *cell = finish->cell;
  struct outcome *outcome = finish->outcome;
  struct known_kernel *known = finish->session->known;
  const struct execution *execution = &outcome->execution;
  if (cell == NULL)
    return;
  cell->outputs = outcome->outputs;
  cell->execution_count = execution->execution_count;
  cell->busy_at = execution->busy_at_us;
  cell->input_at = execution->input_at_us;
  cell->idle_at = execution->idle_at_us;
  cell->reply_at = execution->reply_at_us;
  cell->status = run_status_name(outcome->status);
  struct err err = {0};
  struct task_notebook_kernel kernel = session_notebook_kernel(finish->session);
  if (task_notebook_put(finish->engine, finish->record->task, &known->notebook,
                        &kernel, cell, &err) < 0)
    outcome_note(outcome,
                 "the notebook holds an earlier state of this cell: %s",
                 err.text);
}

static void fill_record(struct run_record *record, struct outcome *outcome) {
  record->status = outcome->status;
  record->ended_at = outcome->ended_at;
  record->execution_count = outcome->execution.execution_count;
  record->ended_by = mem_copy_text(outcome->ended_by);
  if (outcome->died) {
    free(record->kernel_state);
    free(record->kernel_reason);
    record->kernel_state = mem_copy_text("lost");
    record->kernel_reason = MEM_STEAL(outcome->kernel_reason);
  }
  record->cpu_ms = outcome->cpu_ms;
  record->memory_peak_bytes = outcome->memory_peak_bytes;
  record->output_bytes = outcome->output_bytes;
  record->images = MEM_STEAL(outcome->images);
  record->files = MEM_STEAL(outcome->files);
  record->truncated = MEM_STEAL(outcome->truncated);
  record->error = MEM_STEAL(outcome->error);
  record->text = MEM_STEAL(outcome->text);
}

static struct artifact_record describe_artifact(const struct media *media) {
  return (struct artifact_record){
      .sha256 = media->sha256,
      .mime = media->mime,
      .name = media->name,
      .bytes = media->bytes,
      .width = media->width,
      .height = media->height,
      .output = (int64_t)media->output,
  };
}

static size_t list_artifacts(const struct outcome *outcome,
                             struct artifact_record *artifacts) {
  size_t count = 0;
  for (; count < outcome->media_count; count++)
    artifacts[count] = describe_artifact(&outcome->media[count]);
  if (outcome->has_full_text) {
    artifacts[count] = describe_artifact(&outcome->full_text);
    artifacts[count++].output = -1;
  }
  return count;
}

static void write_registry(const struct finish *finish) {
  struct outcome *outcome = finish->outcome;
  struct run_record *record = finish->record;
  size_t count = json_length(outcome->outputs);
  CLEANUP(mem_free_pointer)
  struct artifact_record *artifacts =
      mem_array(outcome->media_count + 1, sizeof *artifacts);
  CLEANUP(mem_free_pointer)
  struct run_display *displays = mem_array(count, sizeof *displays);
  CLEANUP(json_done)
  struct json *references =
      artifacts_refer(outcome->outputs, outcome->media, outcome->media_count);
  struct event_record *events = NULL;
  live_lock(finish->live);
  size_t event_count = trail_take(&outcome->trail, record->task, record->id,
                                  clock_monotonic_ns(), &events);
  live_unlock(finish->live);
  struct run_ending ending = {
      .record = record,
      .outputs = references,
      .artifacts = artifacts,
      .artifact_count = list_artifacts(outcome, artifacts),
      .displays = displays,
      .display_count = displays_list(finish->collector, count, displays),
      .events = events,
      .event_count = event_count,
  };
  struct err err = {0};
  if (engine_finish_run(finish->engine, &ending, &err) < 0)
    outcome_note(outcome, "the end of this run is not in the registry yet: %s",
                 err.text);
  trail_events_free(events, event_count);
}

void finish_run(struct finish *finish) {
  struct run_record *record = finish->record;
  struct known_kernel *known = finish->session->known;
  write_notebook(finish);
  displays_update(finish->engine, known, finish->collector);
  fill_record(record, finish->outcome);
  record->late_told = late_told_take(&known->late);
  if (finish->outcome->notes != NULL)
    record->notes = json_share(finish->outcome->notes);
  write_registry(finish);
  if (record->notes == NULL && finish->outcome->notes != NULL)
    record->notes = json_share(finish->outcome->notes);
}
