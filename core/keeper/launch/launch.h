/* Starts one kernel: from a task's row and its kernelspec to a process that
 * runs and a row that says so. */
#ifndef CELLPOST_KEEPER_LAUNCH_LAUNCH_H
#define CELLPOST_KEEPER_LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "core/keeper/kernels/keeper.h"
#include "core/keeper/kernels/registry.h"
#include "core/store/task.h"

enum launch_how {
  LAUNCH_AS_CAN_BE, /* forked from a zygote when one is ready, else executed */
  LAUNCH_FORKED,
  LAUNCH_EXECUTED,
};

struct launch_order {
  enum launch_how how;
  const struct task_record *task; /* NULL: it belongs to no task yet, and its
                                     workspace is in the spares' directory */
  int attendance;                 /* a spare's own end (spare.h); or 0 */
};

struct launch_result {
  struct kernel *kernel;
  bool forked;    /* or was to be, on failure */
  int64_t zygote; /* the number of the one that it is a copy of */
};

/* Returns once the kernel's program runs; whether it gets ready is the app's
 * business. Its row is written last: a keeper that is killed in between leaves
 * a shim that the next one finds and ends. On failure nothing is left.
 * ERR_UNAVAILABLE: no such kernelspec, or its program cannot be run; ERR_BUSY:
 * LAUNCH_FORKED, and no zygote is ready; ERR_IO, ERR_NO_SPACE. */
int launch(struct keeper *keeper, const struct launch_order *order,
           struct launch_result *ret, struct err *err);

/* Has the zygote of the default kernelspec made ready. */
void launch_prepare(struct keeper *keeper);

#endif
