/* Ends kernels that have not been used for [kernels] idle_timeout seconds. */
#ifndef CELLPOST_KEEPER_CULL_H
#define CELLPOST_KEEPER_CULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/keeper/kernels/keeper.h"

/* Looks at every kernel when that is due, and returns when it is due next
 * (monotonic; KEEPER_NEVER when culling is switched off). A kernel is ended
 * only while the keeper holds its task's turn, as every run does: a run that is
 * just beginning either keeps its kernel or finds it ended. */
int64_t cull_turn(struct keeper *keeper);

/* True when a kernel was last used (wall clock, microseconds) so long ago.
 * Pure. */
bool cull_is_idle(int64_t started_at, int64_t last_run_at, int64_t now,
                  double idle_timeout);

/* How long from one look to the next, for a timeout in seconds. Pure. */
int64_t cull_interval_ns(double idle_timeout);

#endif
