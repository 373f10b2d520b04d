/* Ends kernels that are not in use: those that have not been used for [kernels]
 * idle_timeout seconds, and at max_kernels the one that was used least
 * recently, when a task needs its place.
 *
 * The time of the last use is the table's; how long ago that was is counted by
 * CLOCK_BOOTTIME, so that setting the clock ends nothing. A kernel is ended
 * only while the keeper holds its task's turn, as every run does: a run that is
 * just beginning either keeps its kernel or finds it ended. */
#ifndef CELLPOST_KEEPER_CULL_H
#define CELLPOST_KEEPER_CULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/keeper/kernels/keeper.h"

/* Looks at every kernel when that is due, and returns when it is due next
 * (monotonic; KEEPER_NEVER when culling is switched off). */
int64_t cull_turn(struct keeper *keeper);

/* Asks the least recently used idle kernel to end; false: there is none. */
bool cull_make_room(struct keeper *keeper);

/* When a kernel was last in use (CLOCK_BOOTTIME, ns), as seen at `now` from the
 * table's word `last_run_at` (wall clock, us) and what was seen before; `seen`
 * is -1 at first. Then the wall clock (us) says how long ago that was, but half
 * the timeout (seconds) at most. Pure. */
int64_t cull_used_at(int64_t used_at, int64_t seen, int64_t last_run_at,
                     int64_t now, int64_t wall, double idle_timeout);

/* How long from one look to the next, for a timeout in seconds. Pure. */
int64_t cull_interval_ns(double idle_timeout);

#endif
