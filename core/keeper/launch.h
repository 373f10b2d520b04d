/* Starts a kernel for a task: from its row and its kernelspec to a process that
 * runs and a row that says so. */
#ifndef CELLPOST_KEEPER_LAUNCH_H
#define CELLPOST_KEEPER_LAUNCH_H

#include "core/keeper/keeper.h"
#include "core/keeper/registry.h"

/* Returns once the kernel's program runs; whether it gets ready is the app's
 * business. Its row is written last: a keeper that is killed in between leaves
 * a shim that the next one finds and ends. On failure nothing is left.
 * ERR_NOT_FOUND: no such task; ERR_UNAVAILABLE: no such kernelspec, or its
 * program cannot be run; ERR_IO, ERR_NO_SPACE. */
int launch_kernel(struct keeper *keeper, const char *task, struct kernel **ret,
                  struct err *err);

/* The arguments of a kernelspec's program; for ipykernel with one more, which
 * keeps IPython's history in memory: all kernels would share one file.
 * NULL-terminated; kernelspec_free_argv. */
struct kernelspec;
char **launch_arguments(const struct kernelspec *spec,
                        const char *connection_file);

#endif
