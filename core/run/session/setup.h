/* The first words to a kernel that this process meets. */
#ifndef CELLPOST_RUN_SESSION_SETUP_H
#define CELLPOST_RUN_SESSION_SETUP_H

#include "core/jupyter/client.h"
#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"

/* Sets a Python kernel up (core/ipykernel/ipykernel.h), unless it has been set
 * up. A new kernel then runs the task's init_code; a failure
 * of that is told in *note (malloc'ed) and does not stop the run. Fails only
 * when the kernel does not answer. */
int setup_kernel(struct engine *engine, struct known_kernel *known,
                 struct channel *channel, const struct kernel_info *info,
                 int64_t deadline_ns, char **note, struct err *err);

#endif
