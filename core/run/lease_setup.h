/* The first words to a kernel that this process meets. */
#ifndef CELLPOST_RUN_LEASE_SETUP_H
#define CELLPOST_RUN_LEASE_SETUP_H

#include "core/run/lease.h"

/* Sets a Python kernel up (core/ipykernel/ipykernel.h), unless it has been set
 * up. A new kernel then runs the task's init_code; a failure of that is told in
 * lease->note and does not stop the run. Fails only when the kernel does not
 * answer. */
int lease_setup(struct engine *engine, struct lease *lease, int64_t deadline_ns,
                struct err *err);

#endif
