#include "core/store/database/maintenance.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/worker.h"
#include "core/store/database/db.h"

/* Pages in the log from which on writers are held up for a moment: the log is
 * begun anew only when all of it was copied, and under a load without a pause
 * that moment never comes by itself. */
#define HOLD_UP_PAGES 4000

/* Between two looks: when nothing is left to do, and when something is. */
#define CALM_MS 1000
#define BUSY_MS 50

struct maintenance {
  pthread_mutex_t *writing; /* the store's */
  struct worker worker;
  struct db *db; /* the thread's own connection */
  bool sync;     /* make commits durable */
  /* under the worker's mutex: */
  bool dirty; /* committed since the thread last looked */
  int wal_pages;
};

void maintenance_note_commit(struct maintenance *maintenance, int wal_pages) {
  struct worker *worker = &maintenance->worker;
  pthread_mutex_lock(&worker->mutex);
  /* Once per crossing: the thread looks at the pages itself. */
  bool is_long = wal_pages >= MAINTENANCE_WAL_PAGES &&
                 maintenance->wal_pages < MAINTENANCE_WAL_PAGES;
  worker->wake |= is_long;
  if (is_long || !maintenance->dirty)
    pthread_cond_signal(&worker->changed);
  maintenance->dirty = true;
  maintenance->wal_pages = wal_pages;
  pthread_mutex_unlock(&worker->mutex);
}

/* With nothing `left` to copy waits for a commit first; then for a long log, or
 * for the time. False: it is time to stop. */
static bool wait_for_work(struct maintenance *maintenance, bool left,
                          int milliseconds, bool *dirty, int *wal_pages) {
  struct worker *worker = &maintenance->worker;
  pthread_mutex_lock(&worker->mutex);
  while (!left && !worker->stop && !maintenance->dirty)
    pthread_cond_wait(&worker->changed, &worker->mutex);
  bool go_on = worker_wait_locked(worker, milliseconds * CLOCK_MS);
  *dirty = maintenance->dirty;
  *wal_pages = maintenance->wal_pages;
  maintenance->dirty = false;
  pthread_mutex_unlock(&worker->mutex);
  return go_on;
}

/* Copies what is in the log now; returns how many of its pages are in the
 * database. A failure (a full disk) loses nothing: the log keeps all, and the
 * next round tries again. */
static int copy_pages(struct maintenance *maintenance) {
  int pages = 0, copied = 0;
  db_checkpoint(maintenance->db, &pages, &copied, NULL);
  return copied;
}

static int noted_pages(struct maintenance *maintenance) {
  pthread_mutex_lock(&maintenance->worker.mutex);
  int pages = maintenance->wal_pages;
  pthread_mutex_unlock(&maintenance->worker.mutex);
  return pages;
}

/* True when all was copied and nothing came meanwhile: the next commit begins
 * the log anew. */
static bool copy_log(struct maintenance *maintenance) {
  int copied = copy_pages(maintenance);
  int pages = noted_pages(maintenance);
  if (pages <= copied || pages < HOLD_UP_PAGES)
    return pages <= copied;
  pthread_mutex_lock(maintenance->writing);
  copied = copy_pages(maintenance);
  pages = noted_pages(maintenance);
  pthread_mutex_unlock(maintenance->writing);
  return pages <= copied;
}

/* While commits come, a short log is only made durable; it is copied when it
 * has grown, or when they have ceased. */
static void *maintain(void *argument) {
  struct maintenance *maintenance = argument;
  bool dirty, copied = true;
  int wal_pages, pause = CALM_MS;
  while (wait_for_work(maintenance, !copied, pause, &dirty, &wal_pages)) {
    bool is_long = wal_pages >= MAINTENANCE_WAL_PAGES;
    if (is_long || (!dirty && !copied)) {
      copied = copy_log(maintenance);
    } else if (dirty) {
      copied = false;
      if (maintenance->sync)
        db_sync_wal(maintenance->db, NULL);
    }
    pause = is_long && !copied ? BUSY_MS : CALM_MS;
  }
  if (maintenance->sync && (dirty || !copied))
    db_sync_wal(maintenance->db, NULL);
  return NULL;
}

int maintenance_start(const char *path, bool sync, pthread_mutex_t *writing,
                      struct maintenance **ret, struct err *err) {
  struct maintenance *maintenance = mem_new(sizeof *maintenance);
  maintenance->writing = writing;
  maintenance->sync = sync;
  int64_t tables; /* reading opens the log, for db_sync_wal */
  if (db_open(path, DB_WRITER, false, &maintenance->db, err) < 0 ||
      db_integer(maintenance->db, "SELECT count(*) FROM sqlite_schema", &tables,
                 err) < 0 ||
      worker_start(&maintenance->worker, maintain, maintenance,
                   "the database's thread", err) < 0) {
    db_close(maintenance->db);
    free(maintenance);
    return -1;
  }
  *ret = maintenance;
  return 0;
}

void maintenance_stop(struct maintenance *maintenance) {
  if (maintenance == NULL)
    return;
  worker_stop(&maintenance->worker);
  db_close(maintenance->db);
  free(maintenance);
}
