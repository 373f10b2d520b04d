#include "core/run/run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/notebook/outputs.h"
#include "core/run/answer.h"
#include "core/run/cells.h"
#include "core/run/conclude.h"
#include "core/run/engine_private.h"
#include "core/run/late_told.h"
#include "core/run/place.h"
#include "core/run/replay.h"
#include "core/run/ticket.h"
#include "core/run/unrun.h"

static void send_run_event(const struct run_sink *sink,
                           const struct run_record *record) {
  if (sink == NULL)
    return;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "run", record->id);
  json_set_text(content, "task", record->task);
  json_set_text(content, "status", run_status_name(record->status));
  sink->event(sink->context, "run", content);
}

/* The run was accepted but could not be carried out: its row says so. */
static void close_unrun(struct engine *engine, struct run_ticket *ticket,
                        enum run_status status, const char *stderr_tail,
                        const struct err *why) {
  struct run_record *record = &ticket->record;
  record->status = status;
  record->ended_at = clock_wall_us();
  record->execution_count = -1;
  record->cpu_ms = record->memory_peak_bytes = record->output_bytes = -1;
  unrun_describe(record, why->text, stderr_tail, (size_t)ticket->text_limit);
  CLEANUP(json_done) struct json *none = json_array();
  struct run_ending ending = {.record = record, .outputs = none};
  endings_finish(engine->endings, engine->store, &ending, NULL);
}

/* What the problem document tells of a run that was not carried out. */
static void describe_failure(const struct run_record *record,
                             struct json **details) {
  if (details == NULL)
    return;
  *details = json_object();
  json_set_text(*details, "run", record->id);
  json_set_text(*details, "task", record->task);
  const char *stderr_tail = json_get_text(record->error, "stderr");
  if (stderr_tail != NULL)
    json_set_text(*details, "stderr", stderr_tail);
}

/* The notebook's metadata, once for every notebook that is opened. */
static int describe_kernel(struct notebook *notebook,
                           struct lease_memory *memory,
                           const struct kernel_info *info, struct err *err) {
  if (memory->described == notebook)
    return 0;
  if (notebook_set_kernel(notebook, memory->kernelspec, memory->display_name,
                          info->language, info->language_info, err) < 0)
    return -1;
  memory->described = notebook;
  return 0;
}

/* Puts the cell into the notebook before it runs. A failure does not stop the
 * run: it is told in the notes. */
static void open_cell(struct drive *drive, const struct run_ticket *ticket,
                      struct code_cell *cell) {
  struct err err = {0};
  struct lease_memory *memory = drive->lease->memory;
  const struct kernel_info *info = &drive->lease->cached->info;
  const struct run_record *record = &ticket->record;
  struct notebook *notebook =
      late_notebook(drive->engine, record->task, memory, &err);
  if (notebook == NULL || describe_kernel(notebook, memory, info, &err) < 0 ||
      (record->section != NULL &&
       cells_add_section(notebook, record->section, &err) < 0) ||
      notebook_append_code(notebook, cell, &err) < 0)
    drive_note(drive, "the notebook could not be written: %s", err.text);
  CLEANUP(mem_free_pointer) char *aside = MEM_STEAL(memory->aside);
  if (aside != NULL)
    drive_note(drive,
               "the notebook.ipynb that was there could not be kept whole; it "
               "is now %s",
               aside);
}

static void fill_start(struct run_record *record, const struct lease *lease) {
  record->status = RUN_RUNNING;
  record->started_at = clock_wall_us();
  record->kernel = mem_copy_text(lease->kernel.id);
  record->generation = lease->kernel.generation;
  record->kernel_state = mem_copy_text(lease->state);
  record->kernel_reason =
      lease->reason[0] == '\0' ? NULL : mem_copy_text(lease->reason);
  record->cell = record->silent ? NULL : mem_copy_text(record->id);
}

/* The cell stands in the notebook already, but the kernel did not run it. */
static void mark_not_run(struct drive *drive, const char *task,
                         enum run_status status, struct code_cell *cell) {
  struct err err = {0};
  struct notebook *notebook =
      late_notebook(drive->engine, task, drive->lease->memory, &err);
  cell->status = run_status_name(status);
  if (notebook == NULL || notebook_replace_code(notebook, cell, &err) < 0)
    log_error("the notebook shows as running what was not run: %s", err.text);
}

/* Of a run that was not carried out. */
static enum run_status status_of(const struct err *why) {
  return why->kind == ERR_CONFLICT ? RUN_CANCELLED : RUN_NOT_RUN;
}

/* With a kernel at hand: everything from the notebook's new cell to the
 * record's last word. */
static int run_in_kernel(struct engine *engine, struct run_ticket *ticket,
                         struct lease *lease, const struct run_sink *sink,
                         struct conclusion *c, struct err *err) {
  struct run_record *record = &ticket->record;
  struct drive *drive = c->drive;
  fill_start(record, lease);
  struct code_cell cell = {
      .id = record->id,
      .source = record->code,
      .source_length = record->code_length,
      .execution_count = -1,
      .tags = record->tags,
      .run = record->id,
      .status = "running",
  };
  c->cell = drive->cell = record->silent ? NULL : &cell;
  if (lease->note != NULL)
    drive_note(drive, "%s", lease->note);
  if (c->cell != NULL)
    open_cell(drive, ticket, &cell);
  send_run_event(sink, record);
  struct err fault = {0};
  if (workspace_scan(c->files_directory, (size_t)engine->conf->files_scanned,
                     &c->before, &fault) < 0)
    drive_note(drive, "changed files are not listed: %s", fault.text);
  meter_begin(lease->memory->meter);
  c->cpu_before_us = meter_cpu(lease->memory->meter);
  if (drive_run(drive, err) < 0) {
    if (c->cell != NULL)
      mark_not_run(drive, record->task, status_of(err), &cell);
    return -1;
  }
  lease->memory->runs++;
  conclude(c);
  return 0;
}

static struct collector *new_collector(const struct engine *engine,
                                       const struct run_ticket *ticket) {
  struct output_limits limits = {
      .bytes = (size_t)ticket->output_bytes,
      .bytes_hard = (size_t)engine->conf->output_bytes_hard,
      .outputs = (size_t)ticket->outputs,
      .image_bytes = (size_t)ticket->image_bytes,
  };
  return collector_new(&limits);
}

static int run_with_lease(struct engine *engine, struct run_ticket *ticket,
                          struct lease *lease, const struct run_sink *sink,
                          struct json **answer, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = place_open(engine, ticket->record.task, err);
  if (directory < 0)
    return -1;
  CLEANUP(mem_close_descriptor) int files = place_open_files(directory, NULL);
  struct collector *collector = new_collector(engine, ticket);
  struct drive drive = {
      .engine = engine,
      .live = ticket->live,
      .lease = lease,
      .record = &ticket->record,
      .collector = collector,
      .stdin_lines = ticket->stdin_lines,
      .sink = sink,
  };
  struct conclusion c = {
      .drive = &drive,
      .record = &ticket->record,
      .task_directory = directory,
      .files_directory = files,
      .traceback = ticket->traceback,
      .text_limit = (size_t)ticket->text_limit,
  };
  live_started(ticket->live, collector, &drive.trail);
  int result = run_in_kernel(engine, ticket, lease, sink, &c, err);
  if (result == 0)
    *answer = answer_build(&ticket->record, c.outputs,
                           engine->conf->inline_image_bytes);
  live_started(ticket->live, NULL, NULL);
  bool usable = result == 0 || err->kind == ERR_CONFLICT;
  lease_give(engine, lease, usable && !drive.died && !drive.abandoned);
  drive_done(&drive);
  workspace_free(c.before);
  json_free(c.outputs);
  collector_free(collector);
  return result;
}

/* Outputs of the registry as an answer shows them. */
static struct json *resolve(struct engine *engine, const char *task,
                            const struct json *stored) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_beneath(engine->tasks_directory, task,
                                  O_RDONLY | O_DIRECTORY, 0, NULL);
  CLEANUP(json_done) struct json *resolved = answer_resolve(directory, stored);
  return outputs_join(resolved);
}

/* The first run of the idempotency key may be under way, here or in another
 * process. */
static int await_end(struct engine *engine, const char *id,
                     struct run_record *ret, struct err *err) {
  for (;;) {
    live_wait(engine->live, id);
    CLEANUP(run_record_free) struct run_record record = {0};
    if (run_get(engine->store, id, &record, err) < 0)
      return -1;
    if (run_status_is_final(record.status)) {
      *ret = record;
      record = (struct run_record){0};
      return 0;
    }
    struct timespec pause = {0, 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
  }
}

/* The answer that the first request got, whatever came to the run since. */
static int answer_again(struct engine *engine, const struct run_ticket *ticket,
                        struct json **answer, struct json **details,
                        struct err *err) {
  CLEANUP(run_record_free) struct run_record record = {0};
  if (await_end(engine, ticket->record.id, &record, err) < 0)
    return -1;
  if (record.status == RUN_NOT_RUN || record.status == RUN_CANCELLED) {
    const char *why = json_get_text(record.error, "evalue");
    describe_failure(&record, details);
    return err_set(
        err, record.status == RUN_CANCELLED ? ERR_CONFLICT : ERR_UNAVAILABLE,
        "%s", why == NULL ? "the run was given up" : why);
  }
  CLEANUP(json_done) struct json *stored = NULL;
  CLEANUP(json_done) struct json *outputs = NULL;
  if (run_outputs_at_end(engine->store, record.id, &stored, err) < 0)
    return -1;
  outputs = resolve(engine, record.task, stored);
  record.late_outputs = 0;
  *answer = answer_build(&record, outputs, engine->conf->inline_image_bytes);
  return 0;
}

int run_take_lease(struct engine *engine, const char *task, struct lease *ret,
                   char **stderr_tail, struct err *err) {
  bool died = false;
  if (lease_take(engine, task, ret, stderr_tail, err) < 0)
    return -1;
  replay_when_due(engine, ret, &died);
  if (!died)
    return 0;
  lease_give(engine, ret, false);
  return lease_take(engine, task, ret, stderr_tail, err);
}

static int run_now(struct engine *engine, struct run_ticket *ticket,
                   const struct run_sink *sink, struct json **answer,
                   struct json **details, struct err *err) {
  if (turn_wait(ticket->turn, err) < 0) {
    close_unrun(engine, ticket, RUN_CANCELLED, NULL, err);
    describe_failure(&ticket->record, details);
    return -1;
  }
  struct lease lease;
  CLEANUP(mem_free_pointer) char *stderr_tail = NULL;
  enum run_status status = RUN_OK;
  if (run_take_lease(engine, ticket->record.task, &lease, &stderr_tail, err) <
      0)
    status = RUN_NOT_RUN;
  else if (run_with_lease(engine, ticket, &lease, sink, answer, err) < 0)
    status = status_of(err);
  if (status != RUN_OK) {
    close_unrun(engine, ticket, status, stderr_tail, err);
    describe_failure(&ticket->record, details);
    return -1;
  }
  return 0;
}

int run_perform(struct engine *engine, struct run_ticket *ticket,
                const struct run_sink *sink, struct json **answer,
                struct json **details, struct err *err) {
  struct err fault = {0};
  CLEANUP(json_done) struct json *found = NULL;
  int result = ticket->repeat
                   ? answer_again(engine, ticket, &found, details, &fault)
                   : run_now(engine, ticket, sink, &found, details, &fault);
  ticket_leave(ticket);
  if (result < 0)
    return err_set(err, fault.kind, "%s", fault.text);
  if (answer != NULL)
    *answer = MEM_STEAL(found);
  return 0;
}

/* Among what came late, what this run itself put out after its end: the last of
 * its outputs. */
static void add_own_late(struct run_record *record, const struct json *stored) {
  size_t count = json_length(stored);
  size_t late = (size_t)record->late_outputs;
  struct late_told told = {0};
  late_told_add(&told, record->id, stored,
                count - (late < count ? late : count));
  CLEANUP(json_done) struct json *own = late_told_take(&told);
  if (record->late_told == NULL)
    record->late_told = MEM_STEAL(own);
  for (size_t i = 0; i < json_length(own); i++)
    json_push(record->late_told, json_share(json_at(own, i)));
}

int run_describe(struct engine *engine, const char *id, struct json **answer,
                 struct err *err) {
  CLEANUP(json_done) struct json *outputs = NULL;
  int64_t position = -1;
  bool here = live_look(engine->live, id, &outputs, &position);
  CLEANUP(run_record_free) struct run_record record = {0};
  if (run_get(engine->store, id, &record, err) < 0)
    return -1;
  if (!here || run_status_is_final(record.status)) {
    CLEANUP(json_done) struct json *stored = NULL;
    if (run_outputs(engine->store, id, &stored, err) < 0)
      return -1;
    json_free(outputs);
    outputs = resolve(engine, record.task, stored);
    add_own_late(&record, stored);
  }
  *answer = answer_build(&record, outputs, engine->conf->inline_image_bytes);
  if (!run_status_is_final(record.status))
    json_set(*answer, "queue_position",
             position < 0 ? NULL : json_integer(position));
  return 0;
}

int run_cancel(struct engine *engine, const char *id, const char *by,
               struct err *err) {
  int wanted = run_request_cancel(engine->store, id, by, err);
  if (wanted < 0)
    return -1;
  if (wanted == 0)
    return err_set(err, ERR_CONFLICT, "the run has ended already");
  live_cancel(engine->live, id);
  return 0;
}
