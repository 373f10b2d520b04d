/* How much a directory holds. */
#ifndef CELLPOST_BASE_FS_USAGE_H
#define CELLPOST_BASE_FS_USAGE_H

#include <stdint.h>

struct fs_usage {
  int64_t bytes; /* of disk: the holes of a sparse file do not count */
  int64_t files; /* entries of every kind, beneath the directory */
};

/* Counts until something is over its most, at whatever depth, without following
 * symlinks or entering mounts. What cannot be read, and what is moved
 * meanwhile, is left out. */
struct fs_usage fs_usage_count(int directory, struct fs_usage most);

#endif
