/* Files, safely named and safely written.
 *
 * Every name that comes from a user or a kernel is resolved beneath a directory
 * descriptor with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS) (openat2(2)). All descriptors are O_CLOEXEC. */
#ifndef CELLPOST_BASE_FS_H
#define CELLPOST_BASE_FS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Whether a write must survive a loss of power before the call returns. */
enum fs_sync { FS_SYNC_NONE, FS_SYNC_DATA };

/* A name fit for an error text: control characters and invalid UTF-8 become
 * "?", a long name is cut and ends in "...". */
#define FS_PRINTABLE 104
const char *fs_printable(const char *name, char text[FS_PRINTABLE]);

/* True for one component that can be made or removed: not empty, not "." or
 * "..", no "/", at most NAME_MAX bytes. */
bool fs_is_name(const char *name);

/* Opens `path` (relative) beneath `directory`. Returns the descriptor. `mode`
 * counts with O_CREAT only, and the umask applies to it.
 * ERR_NOT_FOUND (also when a component is no directory), ERR_DENIED (escapes,
 * symlinks, permissions), ERR_CONFLICT (O_EXCL and it exists), ERR_INVALID (a
 * name too long, a directory opened for writing), ERR_NO_SPACE, ERR_UNAVAILABLE
 * (a read-only or failing disk), ERR_IO. */
int fs_open_beneath(int directory, const char *path, int flags, mode_t mode,
                    struct err *err);

/* A listing of an open directory, from its beginning; NULL with errno. The
 * caller closes it (closedir(3)); `directory` stays open. */
DIR *fs_list(int directory);

/* Opens a directory by absolute or working-directory path (trusted). */
int fs_open_directory(const char *path, struct err *err);

/* mkdir -p of a trusted path; an existing directory is fine and keeps its mode.
 * The umask applies to `mode`. ERR_CONFLICT: something else has the name. */
int fs_make_directories(const char *path, mode_t mode, struct err *err);

/* Makes (if missing) and opens the directory `name` (one component) in
 * `directory`. Returns the descriptor. When its owner may not read, write and
 * enter it (chmod(2) is all that it takes), that is given back. */
int fs_make_and_open(int directory, const char *name, mode_t mode,
                     struct err *err);

/* Replaces the file `name` in `directory` in one step: writes all parts into a
 * temporary file in the same directory (name ".<name>.<random>.tmp"), syncs if
 * asked, renames, syncs the directory if asked. The file gets exactly `mode`,
 * whatever the umask. On any failure the old file is intact and no temporary
 * file is left, with one exception: when the very last step, the sync of the
 * directory, fails, the new file is there, whole, but may not survive a loss
 * of power. A process killed in between leaves the temporary file; it is never
 * taken for the file. ERR_NO_SPACE when the disk, a quota or RLIMIT_FSIZE is
 * exhausted (the latter only when SIGXFSZ is ignored). */
int fs_write_atomic(int directory, const char *name, mode_t mode,
                    const struct iovec *parts, int count, enum fs_sync sync,
                    struct err *err);

/* Writes everything or fails (EINTR and short writes handled). */
int fs_write_all(int descriptor, const void *bytes, size_t length,
                 struct err *err);
int fs_pwrite_all(int descriptor, const void *bytes, size_t length,
                  off_t offset, struct err *err);

/* Appends the whole content, from the present position; ERR_TOO_LARGE when
 * `out` is full. On failure `out` is as it was. fs_read_file resolves beneath
 * `directory` and reads regular files only (ERR_INVALID). */
int fs_read_all(int descriptor, struct buf *out, struct err *err);
int fs_read_file(int directory, const char *path, struct buf *out,
                 struct err *err);

/* Removes `name` (a relative path) beneath `directory` with all that it holds,
 * never following a symlink nor crossing a mount, whatever its depth; makes
 * directories writable first where needed. A missing name is fine. Uses a
 * handful of descriptors and no recursion; memory grows with the depth. What
 * cannot be removed does not keep the rest: the walk goes on, and the first
 * failure is reported at the end. Safe against a process that changes the tree
 * meanwhile; when a directory is moved out from under the walk, ERR_CONFLICT,
 * and the call can be repeated. */
int fs_remove_tree(int directory, const char *name, struct err *err);

#endif
