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
 * which is the one given in the order. */
#ifndef CELLPOST_KEEPER_SHIM_H
#define CELLPOST_KEEPER_SHIM_H

#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/keeper/jail.h"

#define SHIM_NAME "cellpost-shim"

/* What to run; everything is borrowed for the time of the call. */
struct shim_order {
  const char *title;             /* shown by ps(1), after SHIM_NAME */
  char *const *argv;             /* argv[0] without "/" is looked up in PATH */
  char *const *environment;      /* the whole of it */
  const char *working_directory; /* of the kernel */
  int directory;                 /* of the shim: log and exit record */
  int64_t terminate_grace_ms;    /* from SIGTERM to SIGKILL */
  struct jail jail;
};

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

/* Gives shims the memory of this process's arguments for their title. Once, at
 * the start of main; afterwards argv and environ must not be used any more in
 * a shim. */
void shim_take_title_room(char **argv);

#endif
