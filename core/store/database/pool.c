#include "core/store/database/pool.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

void pool_init(struct store *store) {
  store->owner = getpid();
  pthread_mutex_init(&store->writing, NULL);
  pthread_mutex_init(&store->reading, NULL);
  pthread_cond_init(&store->returned, NULL);
  store->next_checkpoint = MAINTENANCE_WAL_PAGES;
}

void pool_close(struct store *store) {
  for (int i = 0; i < POOL_READERS; i++)
    db_close(store->readers[i]);
  db_close(store->writer);
  pthread_cond_destroy(&store->returned);
  pthread_mutex_destroy(&store->reading);
  pthread_mutex_destroy(&store->writing);
}

static int check_owner(const struct store *store, struct err *err) {
  if (store->owner == getpid())
    return 0;
  return err_set(err, ERR_INTERNAL,
                 "database: opened before a fork, used after it");
}

/* What this thread may still wait; negative: POOL_PATIENCE each time. */
static _Thread_local int64_t patience = -1;

void pool_set_patience(int64_t nanoseconds) { patience = nanoseconds; }

static int64_t deadline_from(int64_t now) {
  return now + (patience < 0 ? POOL_PATIENCE : patience);
}

static void spend_patience(int64_t since) {
  if (patience < 0)
    return;
  int64_t left = patience - (clock_monotonic_ns() - since);
  patience = left > 0 ? left : 0;
}

static struct timespec time_of(int64_t monotonic_ns) {
  return (struct timespec){monotonic_ns / CLOCK_S, monotonic_ns % CLOCK_S};
}

int pool_check_place(const struct store *store, struct err *err) {
  struct stat found;
  if (stat(store->path, &found) == 0 &&
      found.st_ino == store->identity.st_ino &&
      found.st_dev == store->identity.st_dev &&
      access(store->log_path, F_OK) == 0)
    return 0;
  return err_set(err, ERR_UNAVAILABLE,
                 "the database was deleted or replaced while the service runs: "
                 "put it back with its -wal, or restart the service");
}

/* One try, for a moment only: our own lock is not held while another process
 * takes its time. */
static int try_to_begin(struct store *store, int64_t deadline,
                        struct err *err) {
  struct timespec until = time_of(deadline);
  if (pthread_mutex_clocklock(&store->writing, CLOCK_MONOTONIC, &until) != 0)
    return err_set(err, ERR_UNAVAILABLE,
                   "the database is busy with other requests; try again");
  int64_t moment = clock_monotonic_ns() + POOL_MOMENT;
  db_set_deadline(store->writer, moment < deadline ? moment : deadline);
  int status = pool_check_place(store, err);
  if (status == 0)
    status = db_begin(store->writer, err);
  if (status < 0)
    pthread_mutex_unlock(&store->writing);
  return status;
}

int write_begin(struct store *store, struct write *write, struct err *err) {
  write->store = NULL;
  if (check_owner(store, err) < 0)
    return -1;
  int64_t since = clock_monotonic_ns(), deadline = deadline_from(since);
  int status;
  while ((status = try_to_begin(store, deadline, err)) == DB_LOCKED &&
         clock_monotonic_ns() < deadline) {
    struct timespec pause = time_of(POOL_PAUSE);
    nanosleep(&pause, NULL);
  }
  spend_patience(since);
  if (status < 0)
    return -1;
  write->store = store;
  write->db = store->writer;
  return 0;
}

/* What was committed stays committed when the copying fails: the next commit,
 * or the next process, copies it. */
static void checkpoint_when_due(struct store *store) {
  int pages = db_wal_pages(store->writer);
  if (store->maintenance != NULL) {
    maintenance_note_commit(store->maintenance, pages);
    return;
  }
  if (pages < MAINTENANCE_WAL_PAGES)
    store->next_checkpoint = MAINTENANCE_WAL_PAGES;
  if (pages < store->next_checkpoint)
    return;
  int copied;
  db_checkpoint(store->writer, &pages, &copied, NULL);
  /* A long reader keeps the log from being used anew: it grows on. */
  store->next_checkpoint = pages + MAINTENANCE_WAL_PAGES;
}

int write_commit(struct write *write, struct err *err) {
  db_reset(write->db);
  int status = db_commit(write->db, err);
  if (status == 0)
    checkpoint_when_due(write->store);
  write_end(write);
  return status;
}

void write_end(struct write *write) {
  if (write->store == NULL)
    return;
  db_rollback(write->db);
  pthread_mutex_unlock(&write->store->writing);
  write->store = NULL;
}

/* An open reader that is free, else an unopened place, else -1. */
static int find_free(const struct store *store) {
  int unopened = -1;
  for (int i = POOL_READERS - 1; i >= 0; i--) {
    if (store->lent[i])
      continue;
    if (store->readers[i] != NULL)
      return i;
    unopened = i;
  }
  return unopened;
}

/* The index of a reader, or -1 when all were lent until the deadline. */
static int borrow_reader(struct store *store, int64_t deadline) {
  struct timespec until = time_of(deadline);
  int index, late = 0;
  pthread_mutex_lock(&store->reading);
  while ((index = find_free(store)) < 0 && late == 0)
    late = pthread_cond_clockwait(&store->returned, &store->reading,
                                  CLOCK_MONOTONIC, &until);
  if (index >= 0)
    store->lent[index] = true;
  pthread_mutex_unlock(&store->reading);
  return index;
}

static void return_reader(struct store *store, int index) {
  pthread_mutex_lock(&store->reading);
  store->lent[index] = false;
  pthread_cond_signal(&store->returned);
  pthread_mutex_unlock(&store->reading);
}

int read_begin(struct store *store, struct read *read, struct err *err) {
  read->store = NULL;
  if (check_owner(store, err) < 0)
    return -1;
  int64_t since = clock_monotonic_ns(), deadline = deadline_from(since);
  int index = borrow_reader(store, deadline);
  spend_patience(since);
  if (index < 0)
    return err_set(err, ERR_UNAVAILABLE,
                   "the database is busy with other requests; try again");
  /* Lent out, the place is ours alone. What is open reads on when the file has
   * lost its name; what is opened now must be the same file. */
  if (store->readers[index] == NULL &&
      (pool_check_place(store, err) < 0 ||
       db_open(store->path, DB_READER, false, &store->readers[index], err) <
           0)) {
    return_reader(store, index);
    return -1;
  }
  db_set_deadline(store->readers[index], deadline);
  *read = (struct read){store, index, store->readers[index]};
  return 0;
}

void read_end(struct read *read) {
  if (read->store == NULL)
    return;
  db_reset(read->db);
  return_reader(read->store, read->index);
  read->store = NULL;
}
