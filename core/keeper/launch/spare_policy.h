/* When the next spare kernel is to be made. Pure. */
#ifndef CELLPOST_KEEPER_LAUNCH_SPARE_POLICY_H
#define CELLPOST_KEEPER_LAUNCH_SPARE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Between two: making one takes a processor for a twentieth of a second. */
#define SPARE_PAUSE_NS INT64_C(200000000)
/* After a task has taken one: its first cell comes first. */
#define SPARE_RESPECT_NS INT64_C(300000000)
/* After failures it doubles each time, up to this. */
#define SPARE_PAUSE_MOST_NS INT64_C(60000000000)

struct spare_view {
  int64_t wanted; /* [kernels] spares */
  int64_t ready, starting;
  int64_t room;       /* kernels that may be started yet (max_kernels) */
  int64_t started_at; /* the latest start, monotonic; 0: none yet */
  int64_t taken_at;   /* likewise */
  unsigned failures;  /* in a row: did not get ready, or ended */
};

/* When, monotonic; INT64_MAX: not until something happens. One at a time. */
int64_t spare_policy_due(const struct spare_view *view);

/* True when it has waited for a task so long that a new one is better. */
bool spare_policy_is_old(int64_t ready_at, int64_t now, double most_seconds);

#endif
