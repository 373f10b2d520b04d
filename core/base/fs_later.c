#include "core/base/fs_later.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <uthash.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/worker.h"

/* From the first note to the sync. What a sync itself takes comes on top. */
#define PAUSE (500 * CLOCK_MS)

struct key {
  uint64_t device, inode;
};

struct waiting {
  struct key key;
  int file, directory; /* duplicates; directory may be -1 */
  UT_hash_handle hh;
};

struct fs_later {
  struct worker worker;
  fs_later_failed *failed;
  void *context;
  struct waiting *first; /* under the worker's mutex */
};

static void tell(const struct fs_later *later, int number, const char *what) {
  struct err err = {0};
  err_errno(&err, ERR_IO, number, "%s", what);
  if (later->failed != NULL)
    later->failed(later->context, &err);
}

/* EINVAL: a file system that has nothing to sync. */
static void sync_one(const struct fs_later *later, int file, int directory) {
  if (fdatasync(file) != 0 && errno != EINVAL)
    tell(later, errno, "bringing a file to the disk");
  if (directory >= 0 && fsync(directory) != 0 && errno != EINVAL)
    tell(later, errno, "bringing a file's name to the disk");
}

static void sync_all(const struct fs_later *later, struct waiting *list) {
  struct waiting *one, *next;
  HASH_ITER(hh, list, one, next) {
    HASH_DEL(list, one); /* NOLINT: the analyzer loses track of the list */
    sync_one(later, one->file, one->directory);
    mem_close_descriptor(&one->file);
    mem_close_descriptor(&one->directory);
    free(one);
  }
}

static void *run(void *argument) {
  struct fs_later *later = argument;
  struct worker *worker = &later->worker;
  pthread_mutex_lock(&worker->mutex);
  while (!worker->stop || later->first != NULL) {
    while (!worker->stop && later->first == NULL)
      pthread_cond_wait(&worker->changed, &worker->mutex);
    worker_wait_locked(worker, PAUSE);
    struct waiting *list = MEM_STEAL(later->first);
    pthread_mutex_unlock(&worker->mutex);
    sync_all(later, list);
    pthread_mutex_lock(&worker->mutex);
  }
  pthread_mutex_unlock(&worker->mutex);
  return NULL;
}

int fs_later_start(fs_later_failed *failed, void *context,
                   struct fs_later **ret, struct err *err) {
  struct fs_later *later = mem_new(sizeof *later);
  later->failed = failed;
  later->context = context;
  if (worker_start(&later->worker, run, later, "the thread that syncs", err) <
      0) {
    free(later);
    return -1;
  }
  *ret = later;
  return 0;
}

void fs_later_stop(struct fs_later *later) {
  if (later == NULL)
    return;
  worker_stop(&later->worker);
  free(later);
}

static int duplicate(int descriptor) {
  return descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

/* The mutex is held. */
static struct waiting *find_or_add(struct fs_later *later,
                                   const struct stat *status) {
  struct key key = {status->st_dev, status->st_ino};
  struct waiting *one = NULL;
  HASH_FIND(hh, later->first, &key, sizeof key, one); /* NOLINT: as above */
  if (one != NULL)
    return one;
  one = mem_new(sizeof *one);
  *one = (struct waiting){.key = key, .file = -1, .directory = -1};
  HASH_ADD(hh, later->first, key, sizeof key, one);
  pthread_cond_signal(&later->worker.changed);
  return one;
}

void fs_later_add(struct fs_later *later, const struct stat *key, int file,
                  int directory) {
  int copy = duplicate(file);
  if (copy < 0) {
    sync_one(later, file, directory);
    return;
  }
  pthread_mutex_lock(&later->worker.mutex);
  struct waiting *one = find_or_add(later, key);
  int before = one->file;
  one->file = copy;
  if (one->directory < 0)
    one->directory = duplicate(directory);
  pthread_mutex_unlock(&later->worker.mutex);
  mem_close_descriptor(&before);
}
