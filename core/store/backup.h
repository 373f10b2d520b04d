/* A copy of the whole database while the service runs. */
#ifndef CELLPOST_STORE_BACKUP_H
#define CELLPOST_STORE_BACKUP_H

#include "core/base/err.h"

/* Copies the database at `path` into the new file `target` (mode 0600), as it
 * is at this moment, in one read transaction that holds nobody up (VACUUM INTO,
 * sqlite.org/lang_vacuum.html); checks the copy; puts it in place, on the disk,
 * only when it is whole. ERR_CONFLICT: `target` exists. ERR_NOT_FOUND: there is
 * no database. ERR_NO_SPACE, ERR_IO: nothing is left behind. */
int backup_database(const char *path, const char *target, struct err *err);

#endif
