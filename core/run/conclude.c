#include "core/run/conclude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/control/control.h"
#include "core/notebook/media.h"
#include "core/report/text.h"
#include "core/run/answer.h"
#include "core/run/durable.h"
#include "core/run/engine_private.h"

/* Whether anything but the end of the kernel's work was seen: some kernels
 * become idle, too, after a request that they dropped. */
bool conclude_was_seen(const struct conclusion *c) {
  const struct execution *execution = &c->drive->execution;
  return execution->replied || json_length(c->outputs) > 0 ||
         collector_bytes(c->drive->collector) > 0;
}

/* How the run ended, from what was seen of it. A cell without a reply failed
 * when it shows an error, or nothing at all. */
enum run_status conclude_status(const struct conclusion *c) {
  const struct drive *drive = c->drive;
  bool finished = client_finished(&drive->execution) ||
                  (drive->execution.replied && !drive->died);
  if (drive->died && drive->end.end == KERNEL_END_OOM)
    return RUN_OOM;
  if (drive->verdict != RUN_OK)
    return drive->verdict;
  if (drive->died && !(finished && drive->execution.ask_exit))
    return RUN_KERNEL_DIED;
  bool failed = drive->execution.replied
                    ? drive->execution.failed
                    : conclude_kernel_error(c) != NULL || !conclude_was_seen(c);
  return failed ? RUN_ERROR : RUN_OK;
}

/* Python names what an interrupt raises, and what a lack of memory does. */
static bool may_be_interrupted(const struct conclusion *c) {
  static const char *const names[] = {"KeyboardInterrupt", "MemoryError"};
  const char *language = c->drive->lease->cached->info.language;
  const char *ename = json_get_text(conclude_kernel_error(c), "ename");
  if (language == NULL || strcmp(language, "python") != 0)
    return true;
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (ename != NULL && strcmp(ename, names[i]) == 0)
      return true;
  return false;
}

/* A rule of the kernel's jail may have interrupted the cell: to the kernel that
 * is an interrupt like any other. */
static void look_at_rules(struct conclusion *c) {
  struct run_record *record = c->record;
  const struct engine *engine = c->drive->engine;
  if (record->status != RUN_ERROR || c->drive->died || !may_be_interrupted(c))
    return;
  CLEANUP(mem_free_pointer) struct control_kernel *told = mem_new(sizeof *told);
  if (control_status(engine->keeper_socket, c->drive->lease->kernel.id, told,
                     NULL) < 0)
    return;
  if (told->memory_tight_at >= record->started_at) {
    record->status = RUN_OOM;
    c->drive->ended_by = "SIGINT";
    c->drive->end.memory_limit = told->memory_limit_bytes;
  } else if (told->workspace_over_at >= record->started_at) {
    record->status = RUN_INTERRUPTED;
    c->drive->ended_by = "SIGINT";
    drive_note(c->drive, "the cell was interrupted since the task's files had "
                         "grown beyond what they may hold together: delete "
                         "what is not needed");
  }
}

static void describe_death(const struct drive *drive,
                           struct run_record *record) {
  if (!drive->died)
    return;
  const char *reason = drive->end.reason != NULL
                           ? drive->end.reason
                           : "the kernel ended; how is not known";
  free(record->kernel_state);
  free(record->kernel_reason);
  record->kernel_state = mem_copy_text("lost");
  record->kernel_reason = drive->execution.ask_exit
                              ? mem_format("the cell called exit(): %s", reason)
                              : mem_copy_text(reason);
}

static void measure(const struct conclusion *c) {
  struct run_record *record = c->record;
  const struct meter *meter = c->drive->lease->memory->meter;
  int64_t cpu_us = meter_cpu(meter);
  record->cpu_ms = -1;
  if (cpu_us >= 0 && c->cpu_before_us >= 0)
    record->cpu_ms = (cpu_us - c->cpu_before_us) / 1000;
  record->memory_peak_bytes = meter_peak(meter);
  if (record->memory_peak_bytes < 0 && c->drive->died &&
      c->drive->end.memory_peak > 0)
    record->memory_peak_bytes = c->drive->end.memory_peak;
  record->output_bytes = (int64_t)collector_bytes(c->drive->collector);
}

static void set_dropped(struct json *truncated, const char *key,
                        uint64_t count) {
  if (count > 0)
    json_set_integer(truncated, key, (int64_t)count);
}

static struct json *truncation(const struct conclusion *c, size_t files) {
  struct output_dropped dropped;
  collector_dropped(c->drive->collector, &dropped);
  struct json *truncated = json_object();
  set_dropped(truncated, "stdout", dropped.stdout_bytes);
  set_dropped(truncated, "stdout_lines", dropped.stdout_lines);
  set_dropped(truncated, "stderr", dropped.stderr_bytes);
  set_dropped(truncated, "stderr_lines", dropped.stderr_lines);
  set_dropped(truncated, "outputs", dropped.outputs);
  set_dropped(truncated, "values", dropped.values);
  set_dropped(truncated, "value_bytes", dropped.value_bytes);
  set_dropped(truncated, "files", files);
  if (json_length(truncated) == 0)
    json_done(&truncated);
  return truncated;
}

/* Returns how many changed files the list leaves out. */
static size_t list_files(struct conclusion *c) {
  struct engine *engine = c->drive->engine;
  size_t omitted = 0;
  if (c->before == NULL || c->files_directory < 0)
    return 0;
  CLEANUP(workspace_done) struct workspace *after = NULL;
  struct err err = {0};
  if (workspace_scan(c->files_directory, (size_t)engine->conf->files_scanned,
                     &after, &err) < 0) {
    drive_note(c->drive, "changed files are not listed: %s", err.text);
    return 0;
  }
  pthread_mutex_lock(&engine->mime_mutex);
  c->record->files = workspace_compare(
      c->before, after, c->files_directory, c->record->task, engine->mime,
      (size_t)engine->conf->files_listed, &omitted);
  pthread_mutex_unlock(&engine->mime_mutex);
  if (workspace_was_cut(c->before) || workspace_was_cut(after))
    drive_note(c->drive,
               "the list of changed files may be incomplete: only %lld entries "
               "of the workspace are looked at",
               (long long)engine->conf->files_scanned);
  if (workspace_was_barred(c->before) || workspace_was_barred(after))
    drive_note(c->drive,
               "the list of changed files may be incomplete: not everything in "
               "the workspace can be looked at (a directory that may not be "
               "read, or a path that is too long)");
  return omitted;
}

static struct text_source text_of(const struct conclusion *c,
                                  const char *full_text_uri) {
  const struct run_record *record = c->record;
  return (struct text_source){
      .status = run_status_name(record->status),
      .outputs = c->outputs,
      .images = record->images,
      .files = record->files,
      .error = record->error,
      .kernel_state = record->kernel_state,
      .kernel_reason = record->kernel_reason,
      .ended_by = record->ended_by,
      .full_text_uri = full_text_uri,
      .wall_ms = (record->ended_at - record->started_at) / 1000,
      .timeout_ms = record->timeout_ms,
      .limit = c->text_limit,
  };
}

static void write_prompt(const struct conclusion *c) {
  if (c->record->error == NULL)
    return;
  struct text_source source = text_of(c, NULL);
  CLEANUP(buf_free) struct buf prompt = BUF_INIT(BUF_SMALL);
  if (text_prompt(&source, &prompt) == 0)
    json_set_text(c->record->error, "prompt", buf_string(&prompt));
}

/* The bounded text; when it leaves something out, the whole becomes an
 * artifact. Returns true and *whole when it did. */
static bool write_texts(struct conclusion *c, struct media *whole) {
  CLEANUP(buf_free) struct buf full = BUF_INIT(BUF_ANSWER);
  struct text_source source = text_of(c, NULL);
  text_compose_full(&source, &full);
  if (utf8_count(buf_string(&full), full.length) <= c->text_limit) {
    c->record->text = buf_take(&full);
    return false;
  }
  struct err err = {0};
  bool stored =
      media_store_text(c->task_directory, "text/plain", buf_string(&full),
                       full.length, engine_sync(c->drive->engine), whole,
                       &err) >= 0;
  if (!stored)
    drive_note(c->drive, "the full text is not stored: %s", err.text);
  CLEANUP(mem_free_pointer)
  char *uri = stored
                  ? mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_ARTIFACTS "/%s",
                               c->record->task, whole->name)
                  : NULL;
  source.full_text_uri = uri;
  CLEANUP(buf_free) struct buf bounded = BUF_INIT(BUF_ANSWER);
  text_compose(&source, &bounded);
  c->record->text = buf_take(&bounded);
  return stored;
}

static void write_notebook(struct conclusion *c) {
  if (c->cell == NULL)
    return;
  const struct execution *execution = &c->drive->execution;
  c->cell->outputs = c->outputs;
  c->cell->execution_count = execution->execution_count;
  c->cell->busy_at = execution->busy_at_us;
  c->cell->input_at = execution->input_at_us;
  c->cell->idle_at = execution->idle_at_us;
  c->cell->reply_at = execution->reply_at_us;
  c->cell->status = run_status_name(c->record->status);
  struct err err = {0};
  struct notebook *notebook = late_notebook(c->drive->engine, c->record->task,
                                            c->drive->lease->memory, &err);
  if (notebook == NULL || notebook_replace_code(notebook, c->cell, &err) < 0)
    drive_note(c->drive, "the notebook holds an earlier state of this cell: %s",
               err.text);
}

static void apply_updates(struct conclusion *c) {
  struct collector_update update;
  while (collector_take_update(c->drive->collector, &update) == 1) {
    late_update(c->drive->engine, c->record->task, c->drive->lease->memory,
                &update);
    collector_update_free(&update);
  }
}

static size_t list_artifacts(const struct media *media, size_t count,
                             const struct media *whole, bool has_whole,
                             struct artifact_record *artifacts) {
  for (size_t i = 0; i < count; i++)
    artifacts[i] = (struct artifact_record){
        .sha256 = media[i].sha256,
        .mime = media[i].mime,
        .name = media[i].name,
        .bytes = media[i].bytes,
        .width = media[i].width,
        .height = media[i].height,
        .output = (int64_t)media[i].output,
    };
  if (!has_whole)
    return count;
  artifacts[count] = (struct artifact_record){.sha256 = whole->sha256,
                                              .mime = whole->mime,
                                              .name = whole->name,
                                              .bytes = whole->bytes,
                                              .output = -1};
  return count + 1;
}

static void write_registry(struct conclusion *c, const struct media *media,
                           size_t media_count, const struct media *whole,
                           bool has_whole) {
  CLEANUP(mem_free_pointer)
  struct artifact_record *artifacts =
      mem_array(media_count + 1, sizeof *artifacts);
  CLEANUP(mem_free_pointer)
  struct run_display *displays =
      mem_array(json_length(c->outputs), sizeof *displays);
  CLEANUP(json_done)
  struct json *references =
      answer_with_references(c->outputs, media, media_count);
  struct event_record *events = NULL;
  live_lock(c->drive->live);
  size_t event_count =
      run_trail_take(&c->drive->trail, c->record->task, c->record->id,
                     clock_monotonic_ns(), &events);
  live_unlock(c->drive->live);
  struct run_ending ending = {
      .record = c->record,
      .outputs = references,
      .artifacts = artifacts,
      .artifact_count =
          list_artifacts(media, media_count, whole, has_whole, artifacts),
      .displays = displays,
      .display_count = answer_displays(c->drive->collector,
                                       json_length(c->outputs), displays),
      .events = events,
      .event_count = event_count,
  };
  struct err err = {0};
  if (endings_finish(c->drive->engine->endings, c->drive->engine->store,
                     &ending, &err) < 0)
    drive_note(c->drive, "the end of this run is not in the registry yet: %s",
               err.text);
  run_trail_events_free(events, event_count);
}

void conclude(struct conclusion *c) {
  struct run_record *record = c->record;
  record->ended_at = clock_wall_us();
  live_lock(c->drive->live);
  c->outputs = collector_outputs(c->drive->collector);
  live_unlock(c->drive->live);
  record->status = conclude_status(c);
  /* The number that the next cell will have, too. */
  if (!conclude_was_seen(c))
    c->drive->execution.execution_count = -1;
  look_at_rules(c);
  record->execution_count = c->drive->execution.execution_count;
  record->ended_by = mem_copy_text(c->drive->ended_by);
  describe_death(c->drive, record);
  measure(c);
  CLEANUP(mem_free_pointer) struct media *media = NULL;
  size_t media_count = 0;
  struct err err = {0};
  if (media_store(c->task_directory, c->outputs, engine_sync(c->drive->engine),
                  &media, &media_count, &err) < 0)
    drive_note(c->drive, "images are not stored as files: %s", err.text);
  durable_artifacts(c->drive->engine, c->task_directory, media, media_count);
  record->images = answer_images(record->task, media, media_count);
  size_t omitted = list_files(c);
  record->truncated = truncation(c, omitted);
  record->error = conclude_error(c);
  struct media whole;
  write_prompt(c);
  /* The probe for the hint may have met some more. */
  late_flush(c->drive->engine, record->task, c->drive->lease->memory,
             &c->drive->late);
  bool has_whole = write_texts(c, &whole);
  if (has_whole)
    durable_artifacts(c->drive->engine, c->task_directory, &whole, 1);
  write_notebook(c);
  apply_updates(c);
  if (c->drive->notes != NULL)
    record->notes = json_share(c->drive->notes);
  record->late_told = late_told_take(&c->drive->lease->memory->late);
  write_registry(c, media, media_count, &whole, has_whole);
  if (record->notes == NULL && c->drive->notes != NULL)
    record->notes = json_share(c->drive->notes);
}
