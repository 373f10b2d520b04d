#include "core/base/fs_later.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

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
  pthread_t thread;
  fs_later_failed *failed;
  void *context;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /* under the mutex: */
  struct waiting *first;
  bool stop;
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

/* The mutex is held. */
static void wait_a_while(struct fs_later *later) {
  int64_t until = clock_monotonic_ns() + PAUSE;
  struct timespec end = {until / CLOCK_S, until % CLOCK_S};
  int late = 0;
  while (!later->stop && late == 0)
    late = pthread_cond_timedwait(&later->changed, &later->mutex, &end);
}

static void *run(void *argument) {
  struct fs_later *later = argument;
  pthread_mutex_lock(&later->mutex);
  while (!later->stop || later->first != NULL) {
    while (!later->stop && later->first == NULL)
      pthread_cond_wait(&later->changed, &later->mutex);
    if (!later->stop)
      wait_a_while(later);
    struct waiting *list = MEM_STEAL(later->first);
    pthread_mutex_unlock(&later->mutex);
    sync_all(later, list);
    pthread_mutex_lock(&later->mutex);
  }
  pthread_mutex_unlock(&later->mutex);
  return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct fs_later *later) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int number = pthread_create(&later->thread, NULL, run, later);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number;
}

static void release(struct fs_later *later) {
  pthread_cond_destroy(&later->changed);
  pthread_mutex_destroy(&later->mutex);
  free(later);
}

int fs_later_start(fs_later_failed *failed, void *context,
                   struct fs_later **ret, struct err *err) {
  struct fs_later *later = mem_new(sizeof *later);
  later->failed = failed;
  later->context = context;
  pthread_mutex_init(&later->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&later->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int number = start_thread(later);
  if (number != 0) {
    release(later);
    return err_errno(err, ERR_UNAVAILABLE, number, "the thread that syncs");
  }
  *ret = later;
  return 0;
}

void fs_later_stop(struct fs_later *later) {
  if (later == NULL)
    return;
  pthread_mutex_lock(&later->mutex);
  later->stop = true;
  pthread_cond_signal(&later->changed);
  pthread_mutex_unlock(&later->mutex);
  pthread_join(later->thread, NULL);
  release(later);
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
  pthread_cond_signal(&later->changed);
  return one;
}

void fs_later_add(struct fs_later *later, const struct stat *key, int file,
                  int directory) {
  int copy = duplicate(file);
  if (copy < 0) {
    sync_one(later, file, directory);
    return;
  }
  pthread_mutex_lock(&later->mutex);
  struct waiting *one = find_or_add(later, key);
  int before = one->file;
  one->file = copy;
  if (one->directory < 0)
    one->directory = duplicate(directory);
  pthread_mutex_unlock(&later->mutex);
  mem_close_descriptor(&before);
}
