/* The store's connections: one writer and a few readers. Private to the store.
 *
 * A `struct write` is one BEGIN IMMEDIATE transaction on the writer, held under
 * its mutex; a `struct read` is one reader lent out. Both are given back by
 * their cleanup, and a write that was not committed is rolled back then.
 *
 *   CLEANUP(write_end) struct write write;
 *   if (write_begin(store, &write, err) < 0)
 *     return -1;
 *   …
 *   return write_commit(&write, err);
 */
#ifndef CELLPOST_STORE_DATABASE_POOL_H
#define CELLPOST_STORE_DATABASE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/base/clock.h"
#include "core/conf/conf_settings.h"
#include "core/store/database/db.h"
#include "core/store/database/maintenance.h"

#define POOL_READERS 4

/* How long one call waits for its connection and for another process's lock,
 * unless the thread has a patience of its own. */
#define POOL_PATIENCE (10 * CLOCK_S)

/* How long a writer tries within SQLite, then how long it rests without holding
 * up others. */
#define POOL_MOMENT (20 * CLOCK_MS)
#define POOL_PAUSE (2 * CLOCK_MS)

struct store {
  char *path, *log_path;
  struct stat identity; /* of the file that was opened */
  enum conf_sync sync;
  pid_t owner; /* the process that opened it: it cannot cross a fork */
  pthread_mutex_t writing;
  struct db *writer;
  pthread_mutex_t reading;          /* guards the two arrays */
  pthread_cond_t returned;          /* a reader is free again */
  struct db *readers[POOL_READERS]; /* NULL: not opened yet */
  bool lent[POOL_READERS];
  int next_checkpoint;             /* pages; of the committers' own */
  struct maintenance *maintenance; /* NULL: not started */
};

struct write {
  struct store *store; /* NULL: nothing to end */
  struct db *db;
};
/* ERR_UNAVAILABLE: the time is up, or the database is not there any more. */
int write_begin(struct store *store, struct write *write, struct err *err);
int write_commit(struct write *write, struct err *err);
void write_end(struct write *write);

struct read {
  struct store *store; /* NULL: nothing to end */
  int index;
  struct db *db;
};
/* Waits for a free reader; fails as write_begin. */
int read_begin(struct store *store, struct read *read, struct err *err);
void read_end(struct read *read);

/* Is it the same file as when it was opened, and its log still there? Writing
 * to one that has lost its name would be writing into nothing. ERR_UNAVAILABLE.
 */
int pool_check_place(const struct store *store, struct err *err);

/* store_set_patience's part. */
void pool_set_patience(int64_t nanoseconds);

/* store_open's and store_close's part: the lock objects and the connections. */
void pool_init(struct store *store);
void pool_close(struct store *store);

#endif
