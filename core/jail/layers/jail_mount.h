/* Steps of building a new root, each on a detached mount. Paths in the new root
 * are relative to its descriptor. */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_MOUNT_H
#define CELLPOST_JAIL_LAYERS_JAIL_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/base/err.h"

struct jail_option {
  const char *key, *value;
};

/* A new file system of the type, not attached anywhere. Options end with a NULL
 * key. The descriptor is the caller's. */
int jail_mount_fresh(const char *type, uint64_t attributes,
                     const struct jail_option *options, struct err *err);

/* A copy of what is at the path (beneath `directory`, or an absolute one;
 * "": the directory itself), with all that is mounted there. owner_map as in
 * struct jail, or 0. */
int jail_mount_copy(int directory, const char *path, uint64_t attributes,
                    int owner_map, struct err *err);

/* Attaches a detached mount at `target`, for which a directory, or a file, is
 * made when there is none. */
int jail_mount_attach(int mount, int root, const char *target, bool directory,
                      struct err *err);

/* jail_mount_copy and jail_mount_attach, both at the same place, the path
 * absolute. A path that does not exist gives 1, with nothing done. */
int jail_mount_bind(int root, const char *path, uint64_t attributes,
                    struct err *err);

/* mkdir -p; a file with that text; a symbolic link. The directories
 * above are made too. */
int jail_mount_directory(int root, const char *path, struct err *err);
int jail_mount_file(int root, const char *path, const char *text,
                    struct err *err);
int jail_mount_link(int root, const char *path, const char *content,
                    struct err *err);

#endif
