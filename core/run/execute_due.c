/* What is due at its time while a cell runs: the notebook, the registry, the
 * event log, the wish to cancel, the deadline. */
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/execute.h"
#include "core/store/replay.h"

/* A cell that was asked to end gets this long for its last words; then its
 * large outputs are counted, not read, so that a backlog of them does not keep
 * the answer: a deadline is one whatever the kernel sends. */
#define LAST_OUTPUTS (CLOCK_S / 2)
/* What the loop may wait for the database in one round: a lock that somebody
 * else holds must not keep it from its deadline. What could not be written is
 * tried again, and at last with the run's end. */
#define STORE_MOMENT (50 * CLOCK_MS)
#define TRY_AGAIN (1 * CLOCK_S)

static void publish(struct execute *execute) {
  execute->dirty = false;
  execute->publish_at = 0;
  if (execute->cell == NULL)
    return;
  struct known_kernel *known = execute->session->known;
  int64_t start = clock_monotonic_ns();
  live_lock(execute->live);
  CLEANUP(json_done)
  struct json *outputs = collector_outputs(execute->collector);
  live_unlock(execute->live);
  struct code_cell cell = *execute->cell;
  cell.outputs = outputs;
  cell.execution_count = execute->outcome->execution.execution_count;
  struct err err = {0};
  struct task_notebook_kernel kernel =
      session_notebook_kernel(execute->session);
  task_notebook_put(execute->engine, execute->record->task, &known->notebook,
                    &kernel, &cell, &err);
  int64_t cost = clock_monotonic_ns() - start;
  execute->publish_pause =
      10 * cost > EXECUTE_PUBLISH_PAUSE ? 10 * cost : EXECUTE_PUBLISH_PAUSE;
}

static void flush_trail(struct execute *execute) {
  struct trail *trail = &execute->outcome->trail;
  struct event_record *events = NULL;
  int64_t now = clock_monotonic_ns();
  live_lock(execute->live);
  size_t count = trail_take(trail, execute->record->task, execute->record->id,
                            now, &events);
  live_unlock(execute->live);
  bool recorded =
      event_append(execute->engine->store, events, count, NULL) == 0;
  live_lock(execute->live);
  if (recorded)
    trail_note_recorded(trail);
  else
    trail_put_back(trail, events, count, now + TRY_AGAIN);
  live_unlock(execute->live);
  trail_events_free(events, count);
}

/* The row is durable since it was queued. That it runs is written once it has
 * run for a moment; for a shorter run its end tells both, in one transaction.
 */
static void record_start(struct execute *execute) {
  struct err err = {0};
  execute->record_at = 0;
  if (run_start(execute->engine->store, execute->record, &err) >= 0)
    return;
  if (err.kind == ERR_UNAVAILABLE || err.kind == ERR_NO_SPACE)
    execute->record_at = clock_monotonic_ns() + TRY_AGAIN;
  else
    outcome_note(execute->outcome,
                 "the start of this run is not in the registry: %s", err.text);
}

bool execute_is_unwanted(struct execute *execute) {
  uint64_t count;
  struct store *store = execute->engine->store;
  bool woken = read(execute->live->wake, &count, sizeof count) > 0;
  int asked = execute->replay
                  ? replay_cancel_requested(store, execute->record->task, NULL)
                  : run_cancel_requested(store, execute->record->id, NULL);
  return woken || asked == 1;
}

void execute_check_wish(struct execute *execute) {
  if (execute_is_unwanted(execute))
    ladder_begin(&execute->ladder, RUN_INTERRUPTED);
}

void execute_do_due(struct execute *execute) {
  int64_t now = clock_monotonic_ns();
  store_set_patience(STORE_MOMENT);
  if (execute->ladder.deadline != 0 && now >= execute->ladder.deadline)
    ladder_next(&execute->ladder);
  if (execute->ladder.step != LADDER_RUNNING && execute->skip_at == 0)
    execute->skip_at = now + LAST_OUTPUTS;
  if (execute->skip_at != 0 && now >= execute->skip_at)
    channel_skip_outputs(execute->session->channel, EXECUTE_LARGE_OUTPUT);
  if (execute->record_at != 0 && now >= execute->record_at)
    record_start(execute);
  if (execute->dirty && now >= execute->publish_at)
    publish(execute);
  if (execute->outcome->trail.flush_at != 0 &&
      now >= execute->outcome->trail.flush_at)
    flush_trail(execute);
  if (now >= execute->tick_at) {
    execute->tick_at = now + EXECUTE_TICK;
    late_flush(execute->engine, execute->session->known,
               &execute->outcome->late);
    if (execute->ladder.step == LADDER_RUNNING)
      execute_check_wish(execute);
  }
  if (execute->sink != NULL && now >= execute->silent_since + EXECUTE_KEEPALIVE)
    execute_tell(execute, "keepalive", NULL);
}

int execute_next_timeout(const struct execute *execute) {
  int64_t next = execute_earliest(execute->ladder.deadline, execute->tick_at);
  next = execute_earliest(next, execute->dirty ? execute->publish_at : 0);
  next = execute_earliest(next, execute->outcome->trail.flush_at);
  next = execute_earliest(next, execute->record_at);
  next = execute_earliest(next, execute->gather_until);
  next = execute_earliest(next, execute->half_deadline);
  if (clock_monotonic_ns() < execute->skip_at)
    next = execute_earliest(next, execute->skip_at);
  return clock_poll_timeout(next);
}
