/* Takes what kernels send while no run is under way, and closes the channels of
 * those that end. */
#ifndef CELLPOST_RUN_LATE_DRAIN_H
#define CELLPOST_RUN_LATE_DRAIN_H

#include "core/base/err.h"
#include "core/run/engine/engine.h"

int drain_start(struct engine *engine, struct err *err);
/* Ends its threads and waits for them; fine when it was never started. */
void drain_stop(struct engine *engine);

#endif
