/* The moments of a kernel's process between fork(2) and execve(2), and how the
 * keeper learns of their outcome: through a pipe that closes by itself when
 * the program runs. Part of shim.h. */
#ifndef CELLPOST_KEEPER_KERNEL_PROCESS_H
#define CELLPOST_KEEPER_KERNEL_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/keeper/shim.h"

/* Closes every descriptor above 2 but the `count` given ones. */
void kernel_process_close_others(const int *kept, size_t count);

/* Becomes the kernel: own session, stdin /dev/null (as it stands), stdout and
 * stderr to `output`, signals as at the start of the world, the jail, the
 * working directory, the program. Reports what fails, then exits with 127. */
_Noreturn void kernel_process_run(const struct shim_order *order, int output,
                                  int report);

void kernel_process_report_start(int report, pid_t pid, int64_t start_time);
void kernel_process_report_failure(int report, const struct err *fault);

/* Waits for the end of the reports. On failure, too, *pid is filled in when it
 * is known. ERR_UNAVAILABLE: the kernel's program does not run. */
int kernel_process_await(int report, int64_t deadline_ns, pid_t *pid,
                         int64_t *start_time, struct err *err);

#endif
