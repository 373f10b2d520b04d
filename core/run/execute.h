/* Executes one cell, from execute_request to its end: one poll over the
 * kernel's channels, its process, the wish to cancel, and the deadline. */
#ifndef CELLPOST_RUN_EXECUTE_H
#define CELLPOST_RUN_EXECUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/notebook/cell.h"
#include "core/run/collect/outcome.h"
#include "core/run/engine/live.h"
#include "core/run/ladder.h"
#include "core/run/session/session.h"
#include "core/run/sink.h"

struct execute {
  /* given; all borrowed */
  struct engine *engine;
  struct session *session;
  struct live_run *live;
  const struct run_record *record;
  struct collector *collector;
  const struct json *stdin_lines; /* or NULL */
  const struct sink *sink;        /* or NULL */
  const struct code_cell *cell;   /* NULL: nothing goes to the notebook */
  struct queue_entry *turn; /* where it is noted that the cell was sent; NULL:
                               not */
  bool replay; /* a cell of the history, again: no rows, no events */
  struct outcome *outcome; /* receives what was seen */

  /* its own */
  struct ladder ladder;
  int64_t record_at, gather_until, publish_at, tick_at, silent_since,
      half_deadline, skip_at; /* monotonic; 0: not */
  int64_t outputs_skipped;
  int64_t publish_pause;
  bool dirty; /* the notebook lacks outputs */
  size_t lines_given;
};

/* Sends the cell and sees it through. Fails only when it could not be sent at
 * all, or was refused (ERR_UNAVAILABLE), or when it had been cancelled before
 * it could be sent (ERR_CONFLICT). */
int execute_cell(struct execute *execute, struct err *err);

#endif
