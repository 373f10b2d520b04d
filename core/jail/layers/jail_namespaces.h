/* New processes and new namespaces (namespaces(7)). */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_NAMESPACES_H
#define CELLPOST_JAIL_LAYERS_JAIL_NAMESPACES_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/jail/jail.h"

/* Makes the process that is to be the shim, as fork(2): the first process of a
 * pid namespace when there is that layer. Nothing else of the jail holds in the
 * child yet. */
pid_t jail_namespaces_fork(const struct jail *jail);
/* The same by a direct call of the kernel, and the child's parent is the
 * caller's (CLONE_PARENT, clone(2)). What fork(3) does for libraries is left
 * out: the caller has one thread, and the child may do little but fork. */
pid_t jail_namespaces_fork_sibling(const struct jail *jail);

/* In the shim, instead of fork(2): the child is in the control group from its
 * first moment on where that can be had, else it enters it in jail_enter. */
pid_t jail_namespaces_fork_kernel(struct jail *jail);

/* In a process that jail_namespaces_fork made in a new user namespace: it keeps
 * its own user and group, and there are no others. */
int jail_namespaces_map_user(uid_t uid, gid_t gid, struct err *err);

/* Mount, ipc, uts, network and cgroup namespaces, as the layers say; a host
 * name; the loopback is up and there is no other interface. */
int jail_namespaces_unshare(const struct jail *jail, enum jail_layer *failed,
                            struct err *err);

#endif
