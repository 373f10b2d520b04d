/* Accepting a run: it is checked, takes its place in the task's queue and is
 * durable in the registry, or it is refused. */
#ifndef CELLPOST_RUN_ACCEPT_H
#define CELLPOST_RUN_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/report/traceback/traceback.h"
#include "core/run/engine/engine.h"
#include "core/run/engine/live.h"
#include "core/run/engine/queue.h"
#include "core/store/run.h"

/* What was asked. Pointers are borrowed for the time of accept_run only.
 * Negative or 0 numbers stand for the configured default; a request may lower a
 * limit, never raise it (accept_run refuses with ERR_FIELD). */
struct run_request {
  const char *task;
  const char *code;
  size_t code_length;
  double timeout; /* seconds; negative: default */
  const char *section;
  bool images_linked;             /* images: "link" */
  const struct json *stdin_lines; /* array of strings, or NULL: no stdin */
  bool silent;
  const struct json *tags; /* array of strings, or NULL */
  int64_t text_limit;      /* characters */
  int64_t output_bytes;
  int64_t outputs;
  int64_t image_bytes;
  enum traceback_style traceback;
  const char *idempotency_key; /* or NULL */
  const char *body_sha256;     /* of the request body, when there is a key */
  const char *caller;
  const char *address;
  const char *request_id;
};

/* A run that was accepted. Its members are for core/run alone. */
struct accepted {
  struct engine *engine;
  struct run_record record;
  struct queue_entry *entry;
  struct live_run *live;
  bool repeat;
  struct json *stdin_lines;
  enum traceback_style traceback;
  int64_t text_limit, output_bytes, outputs, image_bytes;
};
const char *accepted_id(const struct accepted *accepted);
const char *accepted_task(const struct accepted *accepted);
/* True when the idempotency key was seen before: nothing will be run, and
 * run_perform waits for the first run's end and gives its answer, as it was
 * given then, or its failure. A run that was not carried out does not count:
 * its key starts a new one. */
bool accepted_is_repeat(const struct accepted *accepted);
/* Runs of the task ahead of this one. */
int64_t accepted_position(const struct accepted *accepted);
void accepted_free(
    struct accepted *accepted); /* an unperformed one is cancelled */
void accepted_done(struct accepted **accepted);

/* Checks, makes the task when it is missing (auto_create), inserts the run and
 * joins the task's queue. ERR_NOT_FOUND (task), ERR_FIELD, ERR_TOO_LARGE,
 * ERR_BUSY (queue full; the text names its length), ERR_CONFLICT (idempotency
 * key with another body), ERR_NO_SPACE. */
int accept_run(struct engine *engine, const struct run_request *request,
               struct accepted **ret, struct err *err);

/* Leaves the queue and the list of live runs: nobody waits for it any more. */
void accepted_leave(struct accepted *accepted);

/* Makes the task when it is missing and may be made (auto_create).
 * ERR_NOT_FOUND. */
int accept_task(struct engine *engine, const char *task, const char *caller,
                struct err *err);

#endif
