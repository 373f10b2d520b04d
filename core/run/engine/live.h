/* The runs that this process leads now: found by id, cancelled from other
 * threads, looked into while they go on. */
#ifndef CELLPOST_RUN_ENGINE_LIVE_H
#define CELLPOST_RUN_ENGINE_LIVE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/id.h"
#include "core/json/json.h"
#include "core/notebook/collector.h"
#include "core/run/engine/queue.h"
#include "core/run/engine/trail.h"

struct live_runs;

struct live_run {
  char id[ID_UUID_SIZE];
  char task[ID_TASK_SIZE];
  int wake; /* eventfd: readable when somebody wants the run to end */
  struct live_run_private *private;
};

struct live_runs *live_runs_new(void);
void live_runs_free(struct live_runs *runs);

/* Registers a run with its place in the queue (borrowed until live_started). */
struct live_run *live_add(struct live_runs *runs, const char *id,
                          const char *task, struct queue_entry *entry);
/* The turn has come: cancelling now means interrupting. The content of the
 * collector, and how much of it the trail has told, can be asked for from other
 * threads until live_started(run, NULL, NULL) or live_remove. */
void live_started(struct live_run *run, struct collector *collector,
                  struct trail *trail);
void live_remove(struct live_runs *runs, struct live_run *run);

/* Around every use of collector and trail by the run's own thread. */
void live_lock(struct live_run *run);
void live_unlock(struct live_run *run);

/* From any thread: wakes the run (queued: cancels its entry). False: not here.
 */
bool live_cancel(struct live_runs *runs, const char *id);
/* Outputs so far (the caller owns them), and the queue position (0: running).
 * False: not here. */
bool live_look(struct live_runs *runs, const char *id, struct json **outputs,
               int64_t *position);

/* The same for somebody who goes on with the event log. */
struct live_view {
  bool started;
  int64_t position;     /* in the queue; 0: it runs */
  struct json *outputs; /* so far; the caller's */
  int64_t end;          /* of how many messages they are; no batch of the event
                           log goes across that border */
  int64_t recorded;     /* of them, in the event log already */
};
bool live_view(struct live_runs *runs, const char *id, struct live_view *ret);
/* Waits until the run is not here any more. False: it never was. */
bool live_wait(struct live_runs *runs, const char *id);
bool live_is_empty(struct live_runs *runs);

#endif
