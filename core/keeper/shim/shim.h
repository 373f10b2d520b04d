/* The small process between the keeper and a kernel.
 *
 * A shim is forked from the keeper, one for each kernel. It has a session of
 * its own, ignores every signal but those below, and is a sub-reaper
 * (PR_SET_CHILD_SUBREAPER, prctl(2)): whatever the kernel leaves behind becomes
 * its child. It forks the kernel, copies what that writes on stdout and stderr
 * into a log that cannot grow (log_ring.h), and when the kernel has ended it
 *   1. writes down how (exit_record.h), durably,
 *   2. kills everything that the kernel started and that still runs,
 *   3. ends, which tells the keeper (pidfd) that nothing is left.
 * So kernels outlive the keeper, and nothing outlives a kernel.
 *
 *   SIGINT   SIGINT to the kernel's process group
 *   SIGTERM  SIGTERM to it, and SIGKILL after the grace
 *   SIGQUIT  SIGKILL to it
 * Only the shim reaps the kernel, so these never meet a stranger's pid.
 *
 * In /proc a shim is known by its name SHIM_NAME and by its working directory,
 * which is the one given in the order.
 *
 * A zygote (zygote.h) makes a shim in its own likeness, which becomes just the
 * same with shim_be: only the kernel then goes on in the zygote's program. */
#ifndef CELLPOST_KEEPER_SHIM_SHIM_H
#define CELLPOST_KEEPER_SHIM_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/keeper/shim/shim_order.h"

#define SHIM_NAME "cellpost-shim"

struct shim_process {
  pid_t pid;
  int64_t pid_start;
  pid_t kernel_pid;
  int64_t kernel_start;
};

/* Starts shim and kernel and returns once the kernel's program runs. The caller
 * is single-threaded and reaps the shim. ERR_UNAVAILABLE: the kernel cannot be
 * run (no such program, …; the text says why); nothing is left then. */
int shim_start(const struct shim_order *order, struct shim_process *ret,
               struct err *err);

/* In a process that jail_namespaces_fork or jail_namespaces_fork_sibling has
 * made: it becomes the shim. `report` is the far end of
 * kernel_process_open_reports. Returns in the kernel's process only, and only
 * when the order is in_place: that process is jailed then, in its working
 * directory, with default signals, and without descriptors above 2 but the
 * attendance. */
void shim_be(const struct shim_order *order, int report);

/* The keeper's part of shim_start, once the shim's process is there. `report`
 * is the near end. On failure the shim is ended and reaped. */
int shim_await(pid_t shim, int report, struct shim_process *ret,
               struct err *err);

/* Gives shims the memory of this process's arguments for their title. Once, at
 * the start of main; afterwards argv and environ must not be used any more in
 * a shim. */
void shim_take_title_room(char **argv);
/* The same when the memory is known. */
void shim_give_title_room(char *room, size_t size);

#endif
