/* The one story: execute a cell, from lease to answer.
 *
 *   run_submit   the run is accepted and durable (queued), or refused
 *   run_perform  takes its turn, has a kernel, runs, records, answers
 *
 * Two steps, so that `wait: false` can be answered between them. */
#ifndef CELLPOST_RUN_RUN_H
#define CELLPOST_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/report/traceback/traceback.h"
#include "core/run/engine.h"

/* What was asked. Pointers are borrowed for the time of run_submit only.
 * Negative or 0 numbers stand for the configured default; a request may lower a
 * limit, never raise it (run_submit refuses with ERR_FIELD). */
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

/* A run that was accepted. */
struct run_ticket;
const char *run_ticket_id(const struct run_ticket *ticket);
const char *run_ticket_task(const struct run_ticket *ticket);
/* True when the idempotency key was seen before: nothing will be run, and
 * run_perform waits for the first run's end and gives its answer, as it was
 * given then, or its failure. A run that was not carried out does not count:
 * its key starts a new one. */
bool run_ticket_is_repeat(const struct run_ticket *ticket);
/* Runs of the task ahead of this one. */
int64_t run_ticket_position(const struct run_ticket *ticket);
void run_ticket_free(
    struct run_ticket *ticket); /* an unperformed one is cancelled */
void run_ticket_done(struct run_ticket **ticket);

/* Checks, makes the task when it is missing (auto_create), inserts the run and
 * joins the task's queue. ERR_NOT_FOUND (task), ERR_FIELD, ERR_TOO_LARGE,
 * ERR_BUSY (queue full; the text names its length), ERR_CONFLICT (idempotency
 * key with another body), ERR_NO_SPACE. */
int run_submit(struct engine *engine, const struct run_request *request,
               struct run_ticket **ret, struct err *err);

/* Told on the run's own thread while it goes on. */
struct run_sink {
  void *context;
  /* type: "run" ({run, task, status}), then the IOPub types "stream",
   * "display_data", "execute_result", "update_display_data", "clear_output",
   * "error" with their content as the kernel sent it, or "keepalive" (content
   * NULL) at least every 15 s of silence. */
  void (*event)(void *context, const char *type, const struct json *content);
};

/* Runs it to its end and builds the answer (DESIGN.md, "Execute answer").
 * Failure means that the run was not carried out at all (its row says not_run
 * or cancelled): ERR_UNAVAILABLE with the kernel's own stderr in the text,
 * ERR_CONFLICT when it was cancelled while queued. `details` (may be NULL)
 * receives more for the problem document: {"stderr": …, "run": …}. answer and
 * sink may be NULL. The ticket stays the caller's. */
int run_perform(struct engine *engine, struct run_ticket *ticket,
                const struct run_sink *sink, struct json **answer,
                struct json **details, struct err *err);

/* The answer of any run by id: while it is queued or running, the same object
 * with its present status, queue position and partial outputs. */
int run_describe(struct engine *engine, const char *id, struct json **answer,
                 struct err *err);

/* Cancels a queued run, interrupts a running one; waits for neither.
 * ERR_CONFLICT: it has ended already. */
int run_cancel(struct engine *engine, const char *id, const char *by,
               struct err *err);

#endif
