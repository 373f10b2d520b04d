#include "core/run/accept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_directory.h"
#include "core/store/task.h"

const char *accepted_id(const struct accepted *accepted) {
  return accepted->record.id;
}

const char *accepted_task(const struct accepted *accepted) {
  return accepted->record.task;
}

bool accepted_is_repeat(const struct accepted *accepted) {
  return accepted->repeat;
}

int64_t accepted_position(const struct accepted *accepted) {
  return accepted->entry == NULL ? 0 : queue_position(accepted->entry);
}

void accepted_leave(struct accepted *accepted) {
  live_remove(accepted->engine->live, MEM_STEAL(accepted->live));
  queue_leave(MEM_STEAL(accepted->entry));
}

/* A run that nobody will carry out (the caller gave up between the two steps)
 * is closed, so that its row does not stay open. */
static void abandon(struct accepted *accepted) {
  struct run_record *record = &accepted->record;
  if (accepted->entry == NULL || run_status_is_final(record->status))
    return;
  record->status = RUN_CANCELLED;
  record->ended_at = run_record_now(record);
  record->execution_count = -1;
  CLEANUP(json_done) struct json *none = json_array();
  struct run_ending ending = {.record = record, .outputs = none};
  engine_finish_run(accepted->engine, &ending, NULL);
}

void accepted_free(struct accepted *accepted) {
  if (accepted == NULL)
    return;
  abandon(accepted);
  accepted_leave(accepted);
  json_free(accepted->stdin_lines);
  run_record_free(&accepted->record);
  free(accepted);
}

void accepted_done(struct accepted **accepted) {
  accepted_free(MEM_STEAL(*accepted));
}

/* A limit of the request: 0 stands for the default, which is the maximum. */
static int lower(const char *name, int64_t wanted, int64_t most, int64_t *ret,
                 struct err *err) {
  if (wanted > most)
    return err_set(err, ERR_FIELD, "%s: at most %lld is allowed here", name,
                   (long long)most);
  *ret = wanted <= 0 ? most : wanted;
  return 0;
}

static int set_limits(struct accepted *accepted, const struct conf *conf,
                      const struct run_request *request, struct err *err) {
  double timeout = request->timeout < 0 ? conf->timeout : request->timeout;
  if (timeout > conf->timeout_max)
    return err_set(err, ERR_FIELD, "timeout: at most %g seconds are allowed",
                   conf->timeout_max);
  accepted->record.timeout_ms = (int64_t)(timeout * 1000.0);
  if (timeout > 0 && accepted->record.timeout_ms == 0)
    accepted->record.timeout_ms = 1;
  accepted->text_limit =
      request->text_limit <= 0 ? conf->text_limit : request->text_limit;
  if (lower("output_bytes", request->output_bytes, conf->output_bytes,
            &accepted->output_bytes, err) < 0 ||
      lower("outputs", request->outputs, conf->outputs, &accepted->outputs,
            err) < 0)
    return -1;
  return lower("image_bytes", request->image_bytes, conf->image_bytes,
               &accepted->image_bytes, err);
}

static struct json *options_of(const struct run_request *request,
                               const struct accepted *accepted) {
  static const char *const styles[] = {
      [TRACEBACK_CONTEXT] = "context",
      [TRACEBACK_PLAIN] = "plain",
      [TRACEBACK_MINIMAL] = "minimal",
  };
  struct json *options = json_object();
  json_set_text(options, "images", request->images_linked ? "link" : "inline");
  json_set_text(options, "traceback", styles[request->traceback]);
  json_set_integer(options, "text_limit", accepted->text_limit);
  json_set_integer(options, "output_bytes", accepted->output_bytes);
  json_set_integer(options, "outputs", accepted->outputs);
  json_set_integer(options, "image_bytes", accepted->image_bytes);
  json_set_integer(options, "stdin_lines",
                   (int64_t)json_length(request->stdin_lines));
  return options;
}

static void fill_record(struct accepted *accepted,
                        const struct run_request *request) {
  struct run_record *record = &accepted->record;
  record->id = mem_new(ID_UUID_SIZE);
  id_new(record->id);
  record->task = mem_copy_text(request->task);
  record->code = mem_copy_bytes(request->code, request->code_length);
  record->code_length = request->code_length;
  crypto_sha256(request->code, request->code_length, record->code_sha256);
  record->section = mem_copy_text(request->section);
  record->tags = json_copy(request->tags);
  record->silent = request->silent;
  record->caller = mem_copy_text(request->caller);
  record->address = mem_copy_text(request->address);
  record->request_id = mem_copy_text(request->request_id);
  record->idempotency_key = mem_copy_text(request->idempotency_key);
  if (request->idempotency_key != NULL && request->body_sha256 != NULL)
    snprintf(record->body_sha256, sizeof record->body_sha256, "%s",
             request->body_sha256);
  record->instance = mem_copy_text(accepted->engine->instance);
  record->options = options_of(request, accepted);
  run_record_accept(record);
  record->status = RUN_QUEUED;
  record->execution_count = -1;
  record->cpu_ms = record->memory_peak_bytes = record->output_bytes = -1;
}

/* The task is not there: makes it, when it may be made so. */
static int make_task(struct engine *engine, const char *task,
                     const char *caller, struct err *err) {
  if (!engine->conf->auto_create)
    return err_set(err, ERR_NOT_FOUND,
                   "no task %s; make it with PUT /v1/tasks/%s first "
                   "(auto_create is off)",
                   task, task);
  struct err fault = {0};
  if (task_put(engine->store, task, engine->conf->kernelspec, NULL, caller,
               &fault) < 0 &&
      fault.kind != ERR_CONFLICT)
    return err_set(err, fault.kind, "%s", fault.text);
  CLEANUP(mem_close_descriptor)
  int directory = task_directory_open(engine, task, err);
  return directory < 0 ? -1 : 0;
}

int accept_task(struct engine *engine, const char *task, const char *caller,
                struct err *err) {
  CLEANUP(task_record_free) struct task_record found = {0};
  struct err fault = {0};
  if (task_get(engine->store, task, &found, &fault) == 0)
    return 0;
  return fault.kind == ERR_NOT_FOUND
             ? make_task(engine, task, caller, err)
             : err_set(err, fault.kind, "%s", fault.text);
}

/* Mostly the task is there; that is found out by inserting. A run is not older
 * than its task. */
static int insert(struct engine *engine, struct run_record *record,
                  char existing[ID_UUID_SIZE], struct err *err) {
  struct err fault = {0};
  int inserted = run_insert(engine->store, record, existing, &fault);
  if (inserted < 0 && fault.kind == ERR_NOT_FOUND) {
    if (make_task(engine, record->task, record->caller, err) < 0)
      return -1;
    run_record_accept(record);
    return run_insert(engine->store, record, existing, err);
  }
  return inserted < 0 ? err_set(err, fault.kind, "%s", fault.text) : inserted;
}

/* First the place in the queue, then the row: two requests of the same moment
 * then stand in the registry in the order in which they will run. */
static int enqueue(struct engine *engine, struct accepted *accepted,
                   struct err *err) {
  struct run_record *record = &accepted->record;
  if (queue_join(engine->queues, record->task, &accepted->entry, err) < 0)
    return -1;
  char existing[ID_UUID_SIZE];
  int inserted = insert(engine, record, existing, err);
  if (inserted < 0)
    return -1;
  if (inserted == 0) {
    accepted->live =
        live_add(engine->live, record->id, record->task, accepted->entry);
    return 0;
  }
  queue_leave(MEM_STEAL(accepted->entry));
  accepted->repeat = true;
  memcpy(record->id, existing, sizeof existing);
  return 0;
}

int accept_run(struct engine *engine, const struct run_request *request,
               struct accepted **ret, struct err *err) {
  CLEANUP(accepted_done) struct accepted *accepted = mem_new(sizeof *accepted);
  accepted->engine = engine;
  if (request->code_length > (size_t)engine->conf->code_bytes)
    return err_set(err, ERR_TOO_LARGE,
                   "the code has %zu bytes; at most %lld are taken",
                   request->code_length, (long long)engine->conf->code_bytes);
  if (set_limits(accepted, engine->conf, request, err) < 0)
    return -1;
  accepted->traceback = request->traceback;
  accepted->stdin_lines = json_copy(request->stdin_lines);
  fill_record(accepted, request);
  if (enqueue(engine, accepted, err) < 0) {
    /* Not accepted: there is no row to close. */
    queue_leave(MEM_STEAL(accepted->entry));
    return -1;
  }
  *ret = MEM_STEAL(accepted);
  return 0;
}
