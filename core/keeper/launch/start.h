/* The kernel that a task asks for: a spare one is taken (spare.h), or one is
 * forked (zygote.h), or its program is executed: whichever comes first of those
 * that can be had. */
#ifndef CELLPOST_KEEPER_LAUNCH_START_H
#define CELLPOST_KEEPER_LAUNCH_START_H

#include "core/keeper/kernels/keeper.h"

/* As launch. ERR_NOT_FOUND: no such task. */
int start_kernel(struct keeper *keeper, const char *task, struct kernel **ret,
                 struct err *err);

#endif
