/* The one story: a cell that was accepted (accept.h) is carried out.
 *
 * Accepting and carrying out are two steps, so that `wait: false` can be
 * answered between them. */
#ifndef CELLPOST_RUN_RUN_H
#define CELLPOST_RUN_RUN_H

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/accept.h"
#include "core/run/engine/engine.h"
#include "core/run/sink.h"

/* Runs it to its end and builds the answer (answer.h). Failure means that the
 * run was not carried out at all (its row says not_run or cancelled):
 * ERR_UNAVAILABLE with the kernel's own stderr in the text, ERR_CONFLICT when
 * it was cancelled while queued. `details` (may be NULL) receives more for the
 * problem document: {"stderr": …, "run": …}. answer and sink may be NULL. What
 * was accepted stays the caller's. */
int run_perform(struct engine *engine, struct accepted *accepted,
                const struct sink *sink, struct json **answer,
                struct json **details, struct err *err);

/* Cancels a queued run, interrupts a running one; waits for neither.
 * ERR_CONFLICT: it has ended already. */
int run_cancel(struct engine *engine, const char *id, const char *by,
               struct err *err);

#endif
