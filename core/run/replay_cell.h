/* One cell of the history, run again. Private to replay. */
#ifndef CELLPOST_RUN_REPLAY_CELL_H
#define CELLPOST_RUN_REPLAY_CELL_H

#include <stdbool.h>

#include "core/json/json.h"
#include "core/run/session/session.h"
#include "core/store/run.h"

enum replay_outcome {
  REPLAY_CELL_SAME,
  REPLAY_CELL_DIFFERENT, /* it went well, with other outputs */
  REPLAY_CELL_FAILED,
  REPLAY_CELL_SKIPPED,
};

struct replay_cell {
  enum replay_outcome outcome;
  enum run_status status; /* how it ended now */
  bool died;              /* the kernel is gone, or cannot be ended */
  bool cancelled;         /* somebody asked to stop */
  char *reason;           /* why it was skipped or failed, or NULL */
  char *before, *after;   /* excerpts of other outputs, or NULL */
};

/* `replay` stands in the run's place for the time of the execution. */
void replay_cell_run(struct engine *engine, struct session *session,
                     int task_directory, const char *replay,
                     const struct run_record *run, struct replay_cell *ret);
void replay_cell_done(struct replay_cell *cell);

/* {"run", "cell", "number", "what", "status"?, "reason"?, "before"?, "after"?}
 */
struct json *replay_cell_describe(const struct run_record *run,
                                  const struct replay_cell *cell);

#endif
