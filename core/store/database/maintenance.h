/* The thread that keeps the write-ahead log short and durable. Private to the
 * store. */
#ifndef CELLPOST_STORE_DATABASE_MAINTENANCE_H
#define CELLPOST_STORE_DATABASE_MAINTENANCE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/err.h"

/* Pages of 4 KiB in the log from which on it is copied into the database: by
 * the maintenance thread, or else by whoever commits. */
#define MAINTENANCE_WAL_PAGES 1000

struct maintenance;

/* Opens a connection of its own to the database at `path`. `sync`: commits are
 * made durable. `writing` is held for a moment when the log has become very
 * long, so that it can begin anew. */
int maintenance_start(const char *path, bool sync, pthread_mutex_t *writing,
                      struct maintenance **ret, struct err *err);

/* Tells of a commit that left so many pages in the log. */
void maintenance_note_commit(struct maintenance *maintenance, int wal_pages);

/* Ends the thread; NULL is fine. */
void maintenance_stop(struct maintenance *maintenance);

#endif
