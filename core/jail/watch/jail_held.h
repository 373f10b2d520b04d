/* Files without a name that live for as long as somebody holds them. */
#ifndef CELLPOST_JAIL_WATCH_JAIL_HELD_H
#define CELLPOST_JAIL_WATCH_JAIL_HELD_H

#include <sys/types.h>

#include "core/base/fs_usage.h"

/* Counts the deleted files of a device that the descendants of this process
 * hold open (any of their threads) or have mapped, each once; the length of a
 * mapping counts for a file that nobody has open. Bounded; processes that this
 * one may not look at (PTRACE_MODE_READ, ptrace(2)) and descriptors on their
 * way through a socket are left out. */
struct fs_usage jail_held_count(dev_t device);

#endif
