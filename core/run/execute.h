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

/* The rest is for the files of this module. */

/* The notebook is brought up to date this often while a cell runs; the pause
 * grows with the cost, so that publishing never takes more than a tenth. */
#define EXECUTE_PUBLISH_PAUSE (100 * CLOCK_MS)
/* Another process may have asked to cancel: the registry is looked at. */
#define EXECUTE_TICK (500 * CLOCK_MS)
#define EXECUTE_KEEPALIVE (15 * CLOCK_S)
/* The bytes of an output that is large when little time is left. */
#define EXECUTE_LARGE_OUTPUT ((size_t)4 << 10)

/* Times of which 0 means never. */
static inline int64_t execute_earliest(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return a == 0 ? b : a;
  return a < b ? a : b;
}

/* execute_messages.c: tells the sink; takes messages of the channels in `mask`
 * until the deadline. */
void execute_tell(struct execute *execute, const char *type,
                  const struct json *content);
int execute_take_messages(struct execute *execute, int mask, struct err *err);

/* execute_due.c: whether somebody wants the run to end, here or in the
 * registry; begins the ladder then; does what is due; milliseconds until
 * something is. */
bool execute_is_unwanted(struct execute *execute);
void execute_check_wish(struct execute *execute);
void execute_do_due(struct execute *execute);
int execute_next_timeout(const struct execute *execute);

#endif
