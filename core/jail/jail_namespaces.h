/* New namespaces (namespaces(7)); private to the jail. */
#ifndef CELLPOST_JAIL_JAIL_NAMESPACES_H
#define CELLPOST_JAIL_JAIL_NAMESPACES_H

#include <sys/types.h>

#include "core/jail/jail.h"

/* In a process that jail_fork made in a new user namespace: it keeps its own
 * user and group, and there are no others. */
int jail_map_user(uid_t uid, gid_t gid, struct err *err);

/* Mount, ipc, uts, network and cgroup namespaces, as the layers say; a host
 * name; the loopback is up and there is no other interface. */
int jail_unshare(const struct jail *jail, enum jail_layer *failed,
                 struct err *err);

#endif
