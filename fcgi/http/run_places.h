/* Places of request threads for those who wait for a kernel.
 *
 * A run holds a thread from its POST to its end, however many stand before it
 * in its task's queue, and so does whatever else waits for its turn among the
 * runs. They may not take every thread: some are kept for what is answered at
 * once (health, metrics, reading) and for what ends a run (cancelling,
 * interrupting, deleting). */
#ifndef CELLPOST_FCGI_HTTP_RUN_PLACES_H
#define CELLPOST_FCGI_HTTP_RUN_PLACES_H

#include <stdatomic.h>

#include "core/base/err.h"

struct run_places {
  atomic_long most;
  atomic_long taken;
  atomic_long threads;
};

/* How many of so many threads waiters may hold: a quarter is kept from them, 8
 * at the least, but they have 1 at any rate. Pure. */
long run_places_of(long threads);

/* Opens, or changes, the number of places. */
void run_places_open(struct run_places *places, long threads);

/* ERR_UNAVAILABLE when none is free; waits for nothing. */
int run_places_take(struct run_places *places, struct err *err);
void run_places_give(struct run_places *places);

#endif
