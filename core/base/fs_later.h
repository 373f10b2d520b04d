/* Files that are brought to the disk within a second, off the caller's path.
 *
 * A thread of its own calls fdatasync(2) for the file and fsync(2) for its
 * directory. It works on a duplicate of the caller's descriptor, which shares
 * the open file description: a write lease (fcntl(2)) is still granted to the
 * caller while its file waits here or is being synced. */
#ifndef CELLPOST_BASE_FS_LATER_H
#define CELLPOST_BASE_FS_LATER_H

#include <sys/stat.h>

#include "core/base/err.h"

struct fs_later;

/* Told of each failure, on the thread. `context` is the caller's. After a
 * failed sync the kernel may have dropped the data (fsync(2), EIO): a later one
 * then succeeds without it. */
typedef void fs_later_failed(void *context, const struct err *err);

int fs_later_start(fs_later_failed *failed, void *context,
                   struct fs_later **ret, struct err *err);

/* Syncs what still waits, ends the thread. NULL is fine. */
void fs_later_stop(struct fs_later *later);

/* Notes `file` and, unless negative, its `directory`; both stay the caller's.
 * `key` (its device and inode count) names what is to be made durable: of one
 * key only the newest file is kept. When there is no descriptor left for it,
 * the file is synced at once. Any thread; cheap. */
void fs_later_add(struct fs_later *later, const struct stat *key, int file,
                  int directory);

#endif
