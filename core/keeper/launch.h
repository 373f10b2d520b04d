/* Starts a kernel for a task: from its row and its kernelspec to a process that
 * runs and a row that says so. A spare kernel is taken (spare.h), or one is
 * forked (zygote.h), or its program is executed: whichever comes first of those
 * that can be had. */
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

/* Starts one that belongs to no task yet, with its workspace in the spares'
 * directory. 1, and the number of the zygote that it is a copy of; 0 when no
 * zygote is ready; -1. `attendance` is the kernel's end (spare.h). */
int launch_spare(struct keeper *keeper, int attendance, struct kernel **ret,
                 int64_t *zygote, struct err *err);

/* Has the zygote of the default kernelspec made ready. */
void launch_prepare(struct keeper *keeper);

/* What the row says of a kernel that may use `memory` bytes. */
int64_t launch_memory_limit(const struct keeper *keeper, int64_t memory);

/* The arguments of a kernelspec's program; for ipykernel with one more, which
 * keeps IPython's history in memory: all kernels would share one file.
 * NULL-terminated; kernelspec_free_argv. */
struct kernelspec;
char **launch_arguments(const struct kernelspec *spec,
                        const char *connection_file);

#endif
