/* How much a directory holds. */
#ifndef CELLPOST_JAIL_WATCH_JAIL_USAGE_H
#define CELLPOST_JAIL_WATCH_JAIL_USAGE_H

#include <stdint.h>

struct jail_usage {
  int64_t bytes; /* of disk: the holes of a sparse file do not count */
  int64_t files; /* entries of every kind, beneath the directory */
};

/* Counts until something is over its most, at whatever depth, without following
 * symlinks or entering mounts. What cannot be read, and what is moved
 * meanwhile, is left out. */
struct jail_usage jail_usage_count(int directory, struct jail_usage most);

#endif
