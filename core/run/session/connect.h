/* From a kernel's process to an open channel that is proved and set up. */
#ifndef CELLPOST_RUN_SESSION_CONNECT_H
#define CELLPOST_RUN_SESSION_CONNECT_H

#include "core/jupyter/channel_cache.h"
#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"

/* Finds out what there is to know of the kernel, opens the channel, proves both
 * directions, sets the kernel up (setup.h). On success `known` belongs to
 * *ret; on failure it stays the caller's. *note: a sentence on what went wrong
 * on the way (malloc'ed), or untouched. ERR_TIMEOUT: it was not ready by the
 * deadline; ERR_UNAVAILABLE: it ended. */
int connect_kernel(struct engine *engine, struct known_kernel *known,
                   int64_t deadline_ns, struct cached_channel **ret,
                   char **note, struct err *err);

#endif
