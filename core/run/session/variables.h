/* How a run meets the variables of its kernel. */
#ifndef CELLPOST_RUN_SESSION_VARIABLES_H
#define CELLPOST_RUN_SESSION_VARIABLES_H

#include <stddef.h>

#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"

/* "kept", "fresh" (there were none) or "lost"; `reason` receives a sentence, or
 * "". Lives that never became ready held none, so what was lost is told by the
 * last life that did. */
const char *variables_meet(struct engine *engine, struct known_kernel *known,
                           char *reason, size_t size);

#endif
