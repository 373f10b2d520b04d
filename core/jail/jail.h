/* What a kernel is jailed with: the layers, and what they need to know.
 *
 * The rooms of the jail: layers/ is what the process that becomes the kernel
 * goes through, from the outside in; host/ finds out what this host can give
 * and makes each kernel's part of it ready; watch/ is what the shim looks after
 * while the kernel runs. */
#ifndef CELLPOST_JAIL_JAIL_H
#define CELLPOST_JAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/cgroup/cgroup.h"
#include "core/process/kernel_limits.h"

enum jail_layer {
  JAIL_MOUNT, /* a root of its own: what is not needed does not exist */
  JAIL_PID,
  JAIL_IPC,
  JAIL_UTS,
  JAIL_NETWORK,
  JAIL_CGROUP,
  JAIL_USER,         /* when the keeper is not root */
  JAIL_IDS,          /* a user of its own for each kernel */
  JAIL_CAPABILITIES, /* none, for ever */
  JAIL_LANDLOCK,
  JAIL_SECCOMP,
  JAIL_RLIMITS,
  JAIL_LIMIT_MEMORY, /* by control groups, as those that follow */
  JAIL_LIMIT_PIDS,
  JAIL_LIMIT_CPU,
  JAIL_KILL,  /* of all that a kernel started, at once */
  JAIL_QUOTA, /* of the workspace */
  JAIL_LAYERS,
};
#define JAIL_BIT(layer) (1U << (layer))

const char *jail_layer_name(enum jail_layer layer);    /* "network" */
const char *jail_layer_meaning(enum jail_layer layer); /* one phrase */

/* Where things are inside a root of its own; without one they are where they
 * are outside. */
#define JAIL_WORKSPACE "/work"   /* the task's files, also HOME */
#define JAIL_PRIVATE "/run/user" /* the kernel's caches and settings */
#define JAIL_USER_NAME "user"

/* Everything is borrowed; descriptors are close-on-exec. With layers == 0 there
 * is no jail: no core dumps, umask, the configured user, no_new_privs. */
struct jail {
  unsigned layers; /* JAIL_BIT of those to enter */

  /* Who the kernel is. `switch_user` is false when the keeper is not root: the
   * kernel is then the keeper's user, and uid and gid say who that is. */
  bool switch_user;
  uid_t uid;
  gid_t gid;

  struct kernel_limits limits; /* zero members: not limited */

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

/* Descriptors that must stay open in the shim until the kernel runs. Returns
 * how many, at most JAIL_DESCRIPTORS. */
#define JAIL_DESCRIPTORS (CGROUP_COUNT + 2)
size_t jail_descriptors(const struct jail *jail, int ret[JAIL_DESCRIPTORS]);

#endif
