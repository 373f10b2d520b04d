/* What the kernel's process may not use beyond (setrlimit(2)). */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_RLIMITS_H
#define CELLPOST_JAIL_LAYERS_JAIL_RLIMITS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/process/kernel_limits.h"

/* In the kernel's process: no core dumps, open files, size of a file, and, when
 * the user is this kernel's alone, processes. Never the address space: numeric
 * libraries reserve far more than they use. */
int jail_rlimits_enter(const struct kernel_limits *limits, bool own_user,
                       struct err *err);

#endif
