/* A second wall around files, of another make (landlock(7)): were a kernel to
 * find a way out of its root, or where it could not be given one, it would
 * still reach only what is listed here. With newer kernels also: no abstract
 * sockets and no signals across the wall, no TCP when there is no network
 * namespace. */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_LANDLOCK_H
#define CELLPOST_JAIL_LAYERS_JAIL_LANDLOCK_H

#include "core/base/err.h"
#include "core/jail/jail.h"

/* ABI 1 would forbid to move files between directories. */
#define JAIL_LANDLOCK_LEAST 2
#define JAIL_LANDLOCK_KNOWN 7

/* The ABI that this Linux has; 0: none, with errno. */
int jail_landlock_abi(void);

/* Needs no_new_privs. */
int jail_landlock_enter(const struct jail *jail, struct err *err);

#endif
