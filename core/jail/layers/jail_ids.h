/* Who a kernel is and what it may do beyond that: nothing. */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_IDS_H
#define CELLPOST_JAIL_LAYERS_JAIL_IDS_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/jail/jail.h"

/* Becomes jail->uid and jail->gid without other groups, when the keeper is
 * root. */
int jail_ids_switch_user(const struct jail *jail, struct err *err);

/* Gives up every capability and all ways to get one back: the bounding set
 * (before the user is switched), then the sets themselves (afterwards), which
 * are looked at (capabilities(7)). */
int jail_ids_drop_bounding(struct err *err);
int jail_ids_drop_capabilities(struct err *err);

/* In the shim once the kernel runs: keeps what signals and accounts need. */
void jail_ids_reduce_shim(const struct jail *jail);

/* Makes a user namespace in which `outside` (an owner on disk) stands for
 * `inside` (a kernel's user), both user and group: for an id-mapped mount.
 * Needs root. The descriptor is the caller's. */
struct jail_owner {
  uid_t uid;
  gid_t gid;
};
int jail_ids_map_owner(struct jail_owner outside, struct jail_owner inside,
                       struct err *err);

/* 0 when the file system beneath `directory` can map owners. */
int jail_ids_probe_map(int directory, int owner_map, struct err *err);

#endif
