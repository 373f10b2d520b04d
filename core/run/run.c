#include "core/run/run.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/answer.h"
#include "core/run/collect/collect.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_directory.h"
#include "core/run/execute.h"
#include "core/run/failure.h"
#include "core/run/finish.h"
#include "core/run/replay.h"

/* What the end of a run may wait for the database, in which it is written a
 * second later otherwise (endings.h): nobody should wait for his answer. */
#define END_PATIENCE (2 * CLOCK_S)

#define CANCEL_PATIENCE (CLOCK_S / 2)

/* One run on its way through the stages. */
struct passage {
  struct engine *engine;
  struct accepted *accepted;
  const struct sink *sink;

  struct session session;
  bool has_session;
  char *stderr_tail; /* of a kernel that could not be had */
  struct collector *collector;
  struct code_cell cell;
  struct collect collect;
  struct outcome outcome;
};

static struct run_record *record_of(const struct passage *run) {
  return &run->accepted->record;
}

/* NULL: the run is silent, and nothing of it goes to the notebook. */
static struct code_cell *cell_of(struct passage *run) {
  return record_of(run)->silent ? NULL : &run->cell;
}

static void start_record(struct run_record *record,
                         const struct session *session) {
  record->status = RUN_RUNNING;
  record->started_at = run_record_now(record);
  record->kernel = mem_copy_text(session->kernel->id);
  record->generation = session->kernel->generation;
  record->kernel_state = mem_copy_text(session->state);
  record->kernel_reason =
      session->reason[0] == '\0' ? NULL : mem_copy_text(session->reason);
  record->cell = record->silent ? NULL : mem_copy_text(record->id);
}

static int open_session(struct passage *run, struct err *err) {
  struct run_record *record = record_of(run);
  if (replay_open_session(run->engine, record->task, &run->session,
                          &run->stderr_tail, err) < 0)
    return -1;
  run->has_session = true;
  if (run->session.note != NULL)
    outcome_note(&run->outcome, "%s", run->session.note);
  int directory = task_directory_open(run->engine, record->task, err);
  if (directory < 0)
    return -1;
  run->collect.task_directory = directory;
  run->collect.files_directory = task_directory_open_files(directory, NULL);
  collector_keep_artifacts(run->collector, directory, record->task,
                           engine_sync(run->engine));
  live_started(run->accepted->live, run->collector, &run->outcome.trail);
  start_record(record, &run->session);
  return 0;
}

static void add_cell(struct passage *run, const struct code_cell *cell) {
  const struct run_record *record = record_of(run);
  struct known_kernel *known = run->session.known;
  struct task_notebook_kernel kernel = session_notebook_kernel(&run->session);
  struct err err = {0};
  if (task_notebook_add_cell(run->engine, record->task, &known->notebook,
                             &kernel, record->section, cell, &err) < 0)
    outcome_note(&run->outcome, "the notebook could not be written: %s",
                 err.text);
  CLEANUP(mem_free_pointer)
  char *set_aside = MEM_STEAL(known->notebook.set_aside);
  if (set_aside != NULL)
    outcome_note(&run->outcome,
                 "the notebook.ipynb that was there could not be kept whole; "
                 "it is now %s",
                 set_aside);
}

/* The cell is in the notebook before it runs. That it cannot does not stop
 * the run: it is told in the notes. */
static void open_notebook(struct passage *run) {
  const struct run_record *record = record_of(run);
  run->cell = (struct code_cell){
      .id = record->id,
      .source = record->code,
      .source_length = record->code_length,
      .execution_count = -1,
      .tags = record->tags,
      .run = record->id,
      .status = run_status_name(RUN_RUNNING),
  };
  if (cell_of(run) != NULL)
    add_cell(run, &run->cell);
}

static void send_run_event(const struct sink *sink,
                           const struct run_record *record) {
  if (sink == NULL)
    return;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "run", record->id);
  json_set_text(content, "task", record->task);
  json_set_text(content, "status", run_status_name(record->status));
  sink->event(sink->context, "run", content);
}

/* The cell is in the notebook already, but the kernel did not run it. */
static void mark_not_run(struct passage *run, enum err_kind why) {
  struct err err = {0};
  struct code_cell *cell = cell_of(run);
  if (cell == NULL)
    return;
  cell->status =
      run_status_name(why == ERR_CONFLICT ? RUN_CANCELLED : RUN_NOT_RUN);
  struct task_notebook_kernel kernel = session_notebook_kernel(&run->session);
  if (task_notebook_put(run->engine, record_of(run)->task,
                        &run->session.known->notebook, &kernel, cell, &err) < 0)
    log_error("the notebook shows as running what was not run: %s", err.text);
}

static int execute(struct passage *run, struct err *err) {
  struct execute stage = {.engine = run->engine,
                          .session = &run->session,
                          .live = run->accepted->live,
                          .record = record_of(run),
                          .collector = run->collector,
                          .stdin_lines = run->accepted->stdin_lines,
                          .sink = run->sink,
                          .cell = cell_of(run),
                          .turn = run->accepted->entry,
                          .outcome = &run->outcome};
  struct err fault = {0};
  send_run_event(run->sink, record_of(run));
  if (execute_cell(&stage, &fault) < 0) {
    mark_not_run(run, fault.kind);
    return err_set(err, fault.kind, "%s", fault.text);
  }
  run->session.known->runs++;
  return 0;
}

static void finish(struct passage *run) {
  struct finish stage = {.engine = run->engine,
                         .session = &run->session,
                         .live = run->accepted->live,
                         .collector = run->collector,
                         .cell = cell_of(run),
                         .outcome = &run->outcome,
                         .record = record_of(run)};
  finish_run(&stage);
}

/* The stages, in their order. */
static int perform(struct passage *run, struct json **answer, struct err *err) {
  const struct conf *conf = run->engine->conf;
  if (queue_wait(run->accepted->entry, err) < 0)
    return -1;
  store_set_patience(STORE_PATIENCE);
  if (open_session(run, err) < 0)
    return -1;
  open_notebook(run);
  collect_begin(&run->collect);
  if (execute(run, err) < 0)
    return -1;
  store_set_patience(END_PATIENCE);
  collect_outcome(&run->collect);
  finish(run);
  *answer = answer_build(record_of(run), run->outcome.outputs,
                         conf->inline_image_bytes);
  return 0;
}

static void begin(struct passage *run) {
  struct accepted *accepted = run->accepted;
  const struct conf *conf = run->engine->conf;
  struct output_limits limits = {
      .bytes = (size_t)accepted->output_bytes,
      .bytes_hard = (size_t)conf->output_bytes_hard,
      .outputs = (size_t)accepted->outputs,
      .image_bytes = (size_t)accepted->image_bytes,
  };
  run->collector = collector_new(&limits);
  run->collect = (struct collect){
      .engine = run->engine,
      .session = &run->session,
      .live = accepted->live,
      .record = &accepted->record,
      .collector = run->collector,
      .outcome = &run->outcome,
      .task_directory = -1,
      .files_directory = -1,
      .traceback = accepted->traceback,
      .text_limit = (size_t)accepted->text_limit,
  };
}

/* A kernel that cannot be used by the next run is given up. */
static void end(struct passage *run, bool kernel_is_usable) {
  live_started(run->accepted->live, NULL, NULL);
  if (run->has_session)
    session_close(run->engine, &run->session,
                  kernel_is_usable && !run->outcome.died &&
                      !run->outcome.abandoned && !run->outcome.unheard);
  mem_close_descriptor(&run->collect.task_directory);
  mem_close_descriptor(&run->collect.files_directory);
  collect_done(&run->collect);
  outcome_free(&run->outcome);
  collector_free(run->collector);
  free(run->stderr_tail);
}

static int run_now(struct engine *engine, struct accepted *accepted,
                   const struct sink *sink, struct json **answer,
                   struct json **details, struct err *err) {
  struct passage run = {.engine = engine, .accepted = accepted, .sink = sink};
  begin(&run);
  int result = perform(&run, answer, err);
  if (result < 0) {
    store_set_patience(END_PATIENCE);
    failure_close(engine, &accepted->record, err, run.stderr_tail,
                  (size_t)accepted->text_limit);
    failure_report(&accepted->record, details);
  }
  end(&run, result == 0 || err->kind == ERR_CONFLICT);
  return result;
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
static int answer_again(struct engine *engine, const struct accepted *accepted,
                        struct json **answer, struct json **details,
                        struct err *err) {
  CLEANUP(run_record_free) struct run_record record = {0};
  if (await_end(engine, accepted->record.id, &record, err) < 0)
    return -1;
  if (record.status == RUN_NOT_RUN || record.status == RUN_CANCELLED) {
    const char *why = json_get_text(record.error, "evalue");
    failure_report(&record, details);
    return err_set(
        err, record.status == RUN_CANCELLED ? ERR_CONFLICT : ERR_UNAVAILABLE,
        "%s", why == NULL ? "the run was given up" : why);
  }
  CLEANUP(json_done) struct json *stored = NULL;
  CLEANUP(json_done) struct json *outputs = NULL;
  if (run_outputs_at_end(engine->store, record.id, &stored, err) < 0)
    return -1;
  outputs = answer_outputs(engine, record.task, stored);
  record.late_outputs = 0;
  *answer = answer_build(&record, outputs, engine->conf->inline_image_bytes);
  return 0;
}

int run_perform(struct engine *engine, struct accepted *accepted,
                const struct sink *sink, struct json **answer,
                struct json **details, struct err *err) {
  struct err fault = {0};
  CLEANUP(json_done) struct json *found = NULL;
  int result = accepted->repeat
                   ? answer_again(engine, accepted, &found, details, &fault)
                   : run_now(engine, accepted, sink, &found, details, &fault);
  accepted_leave(accepted);
  if (result < 0)
    return err_set(err, fault.kind, "%s", fault.text);
  if (answer != NULL)
    *answer = MEM_STEAL(found);
  return 0;
}

/* A run that is led here hears of it at once; the registry, which tells those
 * led elsewhere, need not be writable for that. */
int run_cancel(struct engine *engine, const char *id, const char *by,
               struct err *err) {
  bool here = live_cancel(engine->live, id);
  if (here)
    store_set_patience(CANCEL_PATIENCE);
  int wanted = run_request_cancel(engine->store, id, by, here ? NULL : err);
  if (here)
    return 0;
  if (wanted < 0)
    return -1;
  return wanted > 0 ? 0
                    : err_set(err, ERR_CONFLICT, "the run has ended already");
}
