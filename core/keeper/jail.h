/* The one room where a kernel is jailed before it runs.
 *
 * jail_enter runs in the process that becomes the kernel: after fork(2), with
 * stdin, stdout and stderr in place and every other descriptor marked
 * close-on-exec, in its own session, with all signals blocked, still as the
 * keeper's user, before the working directory is entered and before execve(2).
 * Whatever holds from its return on holds for the kernel and for everything
 * that the kernel starts. It may use only what is safe in a forked child of a
 * single-threaded process.
 *
 * What it does now: no core dumps, umask 077, the configured user with no
 * supplementary groups when the keeper is root (setresuid(2)), no_new_privs
 * (so that no setuid program can leave the reach of the keeper's signals). */
#ifndef CELLPOST_KEEPER_JAIL_H
#define CELLPOST_KEEPER_JAIL_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/base/conf.h"
#include "core/base/err.h"

/* Who kernels run as. `switch_user` is false when the keeper is not root: the
 * kernel is then the keeper's user, and uid and gid say who that is. */
struct jail {
  bool switch_user;
  uid_t uid;
  gid_t gid;
  rlim_t open_files; /* soft RLIMIT_NOFILE of the kernel; 0: as it is */
};

/* What confines kernels here, as a sentence for the log; valid for ever.
 * ERR_UNAVAILABLE when more is required. */
int jail_survey(enum conf_jail wanted, const char **ret, struct err *err);

/* On failure the kernel must not run: the text says which step failed. */
int jail_enter(const struct jail *jail, struct err *err);

#endif
