/* Files, safely named and safely written.
 *
 * Every name that comes from a user or a kernel is resolved beneath a directory
 * descriptor with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS) (openat2(2)). All descriptors are O_CLOEXEC. */
#ifndef CELLPOST_BASE_FS_H
#define CELLPOST_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Whether a write must survive a loss of power before the call returns. */
enum fs_sync { FS_SYNC_NONE, FS_SYNC_DATA };

/* Opens `path` (relative) beneath `directory`. Returns the descriptor.
 * ERR_NOT_FOUND, ERR_DENIED (escapes, symlinks), ERR_IO. */
int fs_open_beneath(int directory, const char *path, int flags, mode_t mode,
                    struct err *err);

/* Opens a directory by absolute or working-directory path (trusted). */
int fs_open_directory(const char *path, struct err *err);

/* mkdir -p of a trusted path; an existing directory is fine. */
int fs_make_directories(const char *path, mode_t mode, struct err *err);

/* Makes (if missing) and opens the directory `name` beneath `directory`. */
int fs_make_and_open(int directory, const char *name, mode_t mode,
                     struct err *err);

/* Replaces the file `name` in `directory` in one step: writes all parts into a
 * temporary file in the same directory (name ".<name>.<random>.tmp"), syncs if
 * asked, renames, syncs the directory if asked. On any failure the old file is
 * intact and no temporary file is left. */
int fs_write_atomic(int directory, const char *name, mode_t mode,
                    const struct iovec *parts, int count, enum fs_sync sync,
                    struct err *err);

/* Writes everything or fails (EINTR and short writes handled). */
int fs_write_all(int descriptor, const void *bytes, size_t length,
                 struct err *err);
int fs_pwrite_all(int descriptor, const void *bytes, size_t length,
                  off_t offset, struct err *err);

/* Appends the whole content; ERR_TOO_LARGE when `out` is full. */
int fs_read_all(int descriptor, struct buf *out, struct err *err);
int fs_read_file(int directory, const char *path, struct buf *out,
                 struct err *err);

/* Removes `name` beneath `directory` with all that it holds, never following a
 * symlink nor crossing a mount, whatever its depth; makes directories writable
 * first where needed. A missing name is fine. */
int fs_remove_tree(int directory, const char *name, struct err *err);

#endif
