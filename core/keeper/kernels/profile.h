/* What a kernel gets from its kernelspec and the configuration, before anything
 * that belongs to one task. */
#ifndef CELLPOST_KEEPER_KERNELS_PROFILE_H
#define CELLPOST_KEEPER_KERNELS_PROFILE_H

#include <stdbool.h>

#include "core/jupyter/kernelspec.h"
#include "core/keeper/kernels/keeper.h"
#include "core/process/kernel_limits.h"

/* What differs from kernel to kernel when it has no root of its own. */
struct profile_places {
  const char *home;      /* the task's files */
  const char *private;   /* settings and caches */
  const char *temporary; /* NULL: /tmp, which is its own */
};

/* Where a kernel finds those: inside its jail when there is a root of its own,
 * else as given. */
struct profile_places profile_places(const struct keeper *keeper,
                                     const char *home, const char *directory);

/* environment_free. `task`: the variables of one task, or NULL. */
char **profile_environment(const struct keeper *keeper,
                           const struct kernelspec *spec,
                           const struct kernel_limits *limits,
                           const struct profile_places *places,
                           const struct json *task);

/* The arguments of a kernelspec's program; for ipykernel with one more, which
 * keeps IPython's history in memory: all kernels would share one file.
 * NULL-terminated; kernelspec_free_argv. */
char **profile_arguments(const struct kernelspec *spec,
                         const char *connection_file);

/* Has a Python program start through `script` (launch_python.py) instead of -m,
 * with a PYTHONUSERBASE beneath `nowhere` unless it has one: nothing of the
 * task's files is imported then before the kernel stands. False: it is none
 * that is started by -m. */
bool profile_isolate(const char *script, const char *nowhere, char **argv,
                     char ***environment);

/* What the row says of a kernel that may use `memory` bytes. */
int64_t profile_memory_limit(const struct keeper *keeper, int64_t memory);

#endif
