/* What a process left undone when it was killed: done by the next one that
 * starts. */
#ifndef CELLPOST_RUN_RECOVER_H
#define CELLPOST_RUN_RECOVER_H

#include "core/base/err.h"
#include "core/run/engine/engine.h"

/* Closes the runs of dead processes in the registry, and brings the notebooks
 * to what the registry says: cells of those runs are marked, and late outputs
 * that only the registry has are written. Notebooks at which somebody is at
 * work are left for recover_rest. */
int recover_after_death(struct engine *engine, struct err *err);

/* Does what was left when the tasks' turns come, on threads of its own. After
 * drain_start. */
void recover_rest(struct engine *engine);

#endif
