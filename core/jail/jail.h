/* The one room where a kernel is jailed before it runs.
 *
 * jail_fork makes the process that stands above the kernel (shim.h), in new pid
 * and user namespaces. jail_enter runs in the process that becomes the kernel:
 * with stdin, stdout and stderr in place and every other descriptor marked
 * close-on-exec, in its own session, with all signals blocked, still as the
 * keeper's user, before the working directory is entered and before execve(2).
 * Whatever holds from its return on holds for the kernel and for everything
 * that the kernel starts. It may use only what is safe in a forked child of a
 * single-threaded process.
 *
 * It goes from the outside in, and each step needs what the next takes away:
 *   control group, resource limits, namespaces (jail_namespaces.h), a new root
 *   (jail_mounts.h), user and capabilities (jail_ids.h), no_new_privs, Landlock
 *   (jail_landlock.h), system calls (jail_seccomp.h).
 * A struct jail of zeros with layers == 0 is no jail: no core dumps, umask, the
 * configured user, no_new_privs. */
#ifndef CELLPOST_JAIL_JAIL_H
#define CELLPOST_JAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/cgroup/cgroup.h"
#include "core/jail/jail_layer.h"
#include "core/jail/jail_limits.h"

/* Where things are inside a root of its own; without one they are where they
 * are outside. */
#define JAIL_WORKSPACE "/work"   /* the task's files, also HOME */
#define JAIL_PRIVATE "/run/user" /* the kernel's caches and settings */
#define JAIL_USER_NAME "user"

/* What one kernel is jailed with. Everything is borrowed; descriptors are
 * close-on-exec. */
struct jail {
  unsigned layers; /* JAIL_BIT of those to enter */

  /* Who the kernel is. `switch_user` is false when the keeper is not root: the
   * kernel is then the keeper's user, and uid and gid say who that is. */
  bool switch_user;
  uid_t uid;
  gid_t gid;

  struct jail_limits limits; /* zero members: not limited */

  /* The new root shows the directory `workspace` at JAIL_WORKSPACE and `run`
   * (where the kernel's sockets are) and `read_only` where they are outside. */
  const char *workspace;
  dev_t workspace_device; /* that it is still the same one */
  ino_t workspace_inode;
  const char *run;
  char *const *read_only; /* NULL-terminated, or NULL */
  /* A user namespace that maps the owner of the workspace's files to uid and
   * gid (mount_setattr(2), MOUNT_ATTR_IDMAP), so that outside they all belong
   * to one user; 0: none. */
  int workspace_owner;

  const struct cgroup *group;
  int entries[CGROUP_COUNT]; /* cgroup_open_entries */
  int entry_count;
  int group_directory; /* of version 2, to be born in it; or 0 */

  const struct jail_filter *filter;
  int landlock_abi;
};

static inline bool jail_has(const struct jail *jail, enum jail_layer layer) {
  return (jail->layers & JAIL_BIT(layer)) != 0;
}

/* As fork(2), the child being the first process of a pid namespace when there
 * is that layer. In the child nothing of the jail holds yet. */
pid_t jail_fork(const struct jail *jail);
/* The same by a direct call of the kernel, and the child's parent is the
 * caller's (CLONE_PARENT, clone(2)). What fork(3) does for libraries is left
 * out: the caller has one thread, and the child may do little but fork. */
pid_t jail_fork_sibling(const struct jail *jail);

/* In the shim, before anything else: who it is in a new user namespace. */
int jail_settle(const struct jail *jail, struct err *err);

/* In the shim, instead of fork(2): the child is in the control group from its
 * first moment on where that can be had, else it enters it in jail_enter. */
pid_t jail_fork_kernel(struct jail *jail);

/* In the shim once the kernel runs: keeps what signals and accounts need. */
void jail_reduce_shim(const struct jail *jail);

/* On failure the kernel must not run: the text says which step failed, and
 * *failed (unless NULL) which layer cannot be had; JAIL_LAYERS: none of them.
 */
int jail_enter(const struct jail *jail, enum jail_layer *failed,
               struct err *err);

/* Descriptors that must stay open in the shim until the kernel runs. Returns
 * how many, at most JAIL_DESCRIPTORS. */
#define JAIL_DESCRIPTORS (CGROUP_COUNT + 2)
size_t jail_descriptors(const struct jail *jail, int ret[JAIL_DESCRIPTORS]);

#endif
