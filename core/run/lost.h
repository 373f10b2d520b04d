/* Runs whose process ended before them. */
#ifndef CELLPOST_RUN_LOST_H
#define CELLPOST_RUN_LOST_H

#include "core/base/err.h"
#include "core/run/engine.h"

/* Closes them in the registry, and has their cells in the notebooks say so,
 * where nobody else is at work there. */
int lost_close(struct engine *engine, struct err *err);

#endif
