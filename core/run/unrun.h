/* The words for a run that came to no end of its own: it was cancelled before
 * it started, no kernel could be had, or the process that led it ended. */
#ifndef CELLPOST_RUN_UNRUN_H
#define CELLPOST_RUN_UNRUN_H

#include <stddef.h>

#include "core/store/run.h"

/* Sets error (with hint and prompt) and text of a record whose status is
 * RUN_CANCELLED, RUN_NOT_RUN or RUN_LOST. `why`: a sentence; `stderr_tail`: the
 * kernel's own words, or NULL; `limit`: characters of the text. */
void unrun_describe(struct run_record *record, const char *why,
                    const char *stderr_tail, size_t limit);

#endif
