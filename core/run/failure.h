/* A run that came to no end of its own: it was cancelled before it started, no
 * kernel could be had, or the process that led it ended. */
#ifndef CELLPOST_RUN_FAILURE_H
#define CELLPOST_RUN_FAILURE_H

#include <stddef.h>

#include "core/run/engine/engine.h"
#include "core/store/run.h"

/* Sets error (with hint and prompt) and text of a record whose status is
 * RUN_CANCELLED, RUN_NOT_RUN or RUN_LOST. `why`: a sentence; `stderr_tail`: the
 * kernel's own words, or NULL; `limit`: characters of the text. Pure. */
void failure_describe(struct run_record *record, const char *why,
                      const char *stderr_tail, size_t limit);

/* Closes the row of an accepted run that was not carried out: cancelled when
 * `why` is ERR_CONFLICT, else not_run. */
void failure_close(struct engine *engine, struct run_record *record,
                   const struct err *why, const char *stderr_tail,
                   size_t limit);

/* What the problem document tells of such a run. NULL is fine. */
void failure_report(const struct run_record *record, struct json **details);

#endif
