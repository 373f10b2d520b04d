/* What somebody who begins to watch is told first, and from where the event log
 * goes on for them. */
#ifndef CELLPOST_RUN_HISTORY_WATCH_H
#define CELLPOST_RUN_HISTORY_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "core/access/rights.h"
#include "core/base/err.h"
#include "core/feed/fence.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"

struct watch_start {
  int64_t position; /* an event of the log, 0: before all */
  /* {"position", "task": as task_describe or null, "runs": [those queued or
   * running]}. A run has {run, task, number, status, caller, silent, section,
   * code, queued, started, cell, generation, timeout_ms, queue_position,
   * outputs}; queue_position and outputs are null when another process leads
   * the run; when all tasks are watched, outputs are null. */
  struct json *state;
  struct fence *fences; /* of the runs whose outputs are told */
  size_t fence_count;
};
void watch_start_free(struct watch_start *start); /* members; cleanup */

/* task NULL: all tasks within the rights (NULL: all there are). ERR_NOT_FOUND:
 * no such task. */
int watch_begin(struct engine *engine, const char *task,
                const struct rights *rights, struct watch_start *ret,
                struct err *err);

/* 1: every event behind event `after` is still there; 0: not, or there never
 * was such an event. */
int watch_can_resume(struct engine *engine, int64_t after, struct err *err);

#endif
