#include "core/store/database/maintenance.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
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
  pthread_t thread;
  struct db *db; /* the thread's own connection */
  bool sync;     /* make commits durable */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* under the mutex: */
  bool stop;
  bool wake;  /* the log has become long */
  bool dirty; /* committed since the thread last looked */
  int wal_pages;
};

void maintenance_note_commit(struct maintenance *maintenance, int wal_pages) {
  pthread_mutex_lock(&maintenance->mutex);
  maintenance->dirty = true;
  /* Once per crossing: the thread looks at the pages itself. */
  bool wake = wal_pages >= MAINTENANCE_WAL_PAGES &&
              maintenance->wal_pages < MAINTENANCE_WAL_PAGES;
  maintenance->wal_pages = wal_pages;
  if (wake) {
    maintenance->wake = true;
    pthread_cond_signal(&maintenance->changed);
  }
  pthread_mutex_unlock(&maintenance->mutex);
}

/* Waits for a long log, or for the time; false: it is time to stop. */
static bool wait_for_work(struct maintenance *maintenance, int milliseconds,
                          bool *dirty, int *wal_pages) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t end = until.tv_nsec + milliseconds * CLOCK_MS;
  until.tv_sec += end / CLOCK_S;
  until.tv_nsec = end % CLOCK_S;
  pthread_mutex_lock(&maintenance->mutex);
  int late = 0;
  while (!maintenance->stop && !maintenance->wake && late == 0)
    late = pthread_cond_timedwait(&maintenance->changed, &maintenance->mutex,
                                  &until);
  maintenance->wake = false;
  *dirty = maintenance->dirty;
  *wal_pages = maintenance->wal_pages;
  maintenance->dirty = false;
  bool go_on = !maintenance->stop;
  pthread_mutex_unlock(&maintenance->mutex);
  return go_on;
}

/* Copies what stands in the log now; returns how many of its pages are in the
 * database. A failure (a full disk) loses nothing: the log keeps all, and the
 * next round tries again. */
static int copy_pages(struct maintenance *maintenance) {
  int pages = 0, copied = 0;
  db_checkpoint(maintenance->db, &pages, &copied, NULL);
  return copied;
}

static int noted_pages(struct maintenance *maintenance) {
  pthread_mutex_lock(&maintenance->mutex);
  int pages = maintenance->wal_pages;
  pthread_mutex_unlock(&maintenance->mutex);
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
  while (wait_for_work(maintenance, pause, &dirty, &wal_pages)) {
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

/* Signals are the main thread's. */
static int start_thread(struct maintenance *maintenance) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int number =
      pthread_create(&maintenance->thread, NULL, maintain, maintenance);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number;
}

static void maintenance_free(struct maintenance *maintenance) {
  db_close(maintenance->db);
  pthread_cond_destroy(&maintenance->changed);
  pthread_mutex_destroy(&maintenance->mutex);
  free(maintenance);
}

int maintenance_start(const char *path, bool sync, pthread_mutex_t *writing,
                      struct maintenance **ret, struct err *err) {
  struct maintenance *maintenance = mem_new(sizeof *maintenance);
  maintenance->writing = writing;
  maintenance->sync = sync;
  pthread_mutex_init(&maintenance->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&maintenance->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int64_t tables; /* reading opens the log, for db_sync_wal */
  if (db_open(path, DB_WRITER, false, &maintenance->db, err) < 0 ||
      db_integer(maintenance->db, "SELECT count(*) FROM sqlite_schema", &tables,
                 err) < 0) {
    maintenance_free(maintenance);
    return -1;
  }
  int number = start_thread(maintenance);
  if (number != 0) {
    maintenance_free(maintenance);
    return err_errno(err, ERR_UNAVAILABLE, number, "maintenance thread");
  }
  *ret = maintenance;
  return 0;
}

void maintenance_stop(struct maintenance *maintenance) {
  if (maintenance == NULL)
    return;
  pthread_mutex_lock(&maintenance->mutex);
  maintenance->stop = true;
  pthread_cond_signal(&maintenance->changed);
  pthread_mutex_unlock(&maintenance->mutex);
  pthread_join(maintenance->thread, NULL);
  maintenance_free(maintenance);
}
