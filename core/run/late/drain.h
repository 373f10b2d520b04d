/* The thread that takes what kernels send while no run is under way. */
#ifndef CELLPOST_RUN_LATE_DRAIN_H
#define CELLPOST_RUN_LATE_DRAIN_H

#include "core/base/err.h"
#include "core/run/engine/engine.h"

int drain_start(struct engine *engine, struct err *err);
/* Ends the thread and waits for it; fine when it was never started. */
void drain_stop(struct engine *engine);

#endif
