/* The moments of a kernel's process between fork(2) and execve(2), and how the
 * keeper learns of them: through a pair of sockets (SOCK_SEQPACKET). The far
 * end closes by itself when the program runs. The kernel's process says
 * first that it is there; its credentials (SCM_CREDENTIALS, unix(7)) tell the
 * keeper its pid, whatever it is called in a pid namespace of its own. Then it
 * waits until the keeper knows it. */
#ifndef CELLPOST_KEEPER_SHIM_KERNEL_PROCESS_H
#define CELLPOST_KEEPER_SHIM_KERNEL_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/keeper/shim/shim_order.h"

/* Closes every descriptor above 2 but the `count` given ones. */
void kernel_process_close_others(const int *kept, size_t count);

/* Becomes the kernel: own session, stdin as it is (/dev/null), stdout and
 * stderr to `output`, default signals, the jail, the working directory, the
 * program. Reports what fails, then exits with 127.
 * Returns only when the order is in_place, where it would run the program. */
void kernel_process_run(const struct shim_order *order, int output, int report);

/* Default dispositions, no signal blocked. */
void kernel_process_renew_signals(void);

/* As execvpe(3), but with the PATH of the new environment, not our own; returns
 * only on failure, with errno. */
void kernel_process_execute(char *const *argv, char *const *environment);
const char *kernel_process_path(char *const *environment);

void kernel_process_report_failure(int report, const struct err *fault);

/* The pair: [0] the keeper's, [1] the kernel's. */
int kernel_process_open_reports(int ret[2], struct err *err);

/* Answers the kernel's process and waits for the end of its reports. On
 * failure, too, *pid is filled in when it is known. ERR_UNAVAILABLE: the
 * kernel's program does not run. */
int kernel_process_await(int report, int64_t deadline_ns, pid_t *pid,
                         int64_t *start_time, struct err *err);

#endif
