#include "core/store/database/pool.h"

#include <unistd.h>

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

int write_begin(struct store *store, struct write *write, struct err *err) {
  write->store = NULL;
  if (check_owner(store, err) < 0)
    return -1;
  pthread_mutex_lock(&store->writing);
  if (db_begin(store->writer, err) < 0) {
    pthread_mutex_unlock(&store->writing);
    return -1;
  }
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

static int borrow_reader(struct store *store) {
  pthread_mutex_lock(&store->reading);
  int index;
  while ((index = find_free(store)) < 0)
    pthread_cond_wait(&store->returned, &store->reading);
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
  int index = borrow_reader(store);
  /* Lent out, the place is ours alone. */
  if (store->readers[index] == NULL &&
      db_open(store->path, DB_READER, false, &store->readers[index], err) < 0) {
    return_reader(store, index);
    return -1;
  }
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
