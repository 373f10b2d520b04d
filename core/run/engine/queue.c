#include "core/run/engine/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include <utlist.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"

/* One task's queue; exists while somebody is in it. */
struct queue {
  char task[ID_TASK_SIZE];
  struct queue_entry *first; /* runs, or is about to */
  int64_t length;
  pthread_cond_t moved;
  UT_hash_handle hh;
};

struct queue_entry {
  struct queues *queues;
  struct queue *queue;
  bool cancelled;
  int lock; /* descriptor of the lock file, or -1 */
  struct queue_entry *prev, *next;
};

struct queues {
  pthread_mutex_t mutex;
  struct queue *queues;
  int directory;
  int64_t limit;
};

struct queues *queues_new(int directory, int64_t limit) {
  struct queues *queues = mem_new(sizeof *queues);
  pthread_mutex_init(&queues->mutex, NULL);
  queues->directory = directory;
  queues->limit = limit;
  return queues;
}

void queues_free(struct queues *queues) {
  if (queues == NULL)
    return;
  pthread_mutex_destroy(&queues->mutex);
  free(queues);
}

static struct queue *queue_of(struct queues *queues, const char *task,
                              bool make) {
  struct queue *queue = NULL;
  HASH_FIND_STR(queues->queues, task, queue);
  if (queue != NULL || !make)
    return queue;
  queue = mem_new(sizeof *queue);
  snprintf(queue->task, sizeof queue->task, "%s", task);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&queue->moved, &attributes);
  pthread_condattr_destroy(&attributes);
  HASH_ADD_STR(queues->queues, task, queue);
  return queue;
}

static struct queue_entry *append(struct queues *queues, struct queue *queue) {
  struct queue_entry *entry = mem_new(sizeof *entry);
  entry->queues = queues;
  entry->queue = queue;
  entry->lock = -1;
  DL_APPEND(queue->first, entry);
  queue->length++;
  return entry;
}

int queue_join(struct queues *queues, const char *task,
               struct queue_entry **ret, struct err *err) {
  pthread_mutex_lock(&queues->mutex);
  struct queue *queue = queue_of(queues, task, true);
  int64_t waiting = queue->length - 1;
  struct queue_entry *entry =
      waiting >= queues->limit ? NULL : append(queues, queue);
  pthread_mutex_unlock(&queues->mutex);
  if (entry == NULL)
    return err_set(err, ERR_BUSY,
                   "the queue of task %s is full: %lld %s already; "
                   "try again when one has ended",
                   task, (long long)waiting,
                   waiting == 1 ? "run waits" : "runs wait");
  *ret = entry;
  return 0;
}

/* The lock file may have been removed by queue_forget between our open and our
 * lock; then the name stands for another inode and the lock is worth nothing.
 */
static bool still_named(const struct queue_entry *entry, const char *name,
                        int lock) {
  struct stat named, held;
  return fstatat(entry->queues->directory, name, &named, 0) == 0 &&
         fstat(lock, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

static bool try_lock(struct queue_entry *entry, struct err *err) {
  char name[ID_TASK_SIZE + 8];
  snprintf(name, sizeof name, "%s.lock", entry->queue->task);
  CLEANUP(mem_close_descriptor)
  int lock = openat(entry->queues->directory, name,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
  if (lock < 0) {
    err_errno(err, ERR_IO, errno, "lock file %s", name);
    return false;
  }
  if (flock(lock, LOCK_EX | LOCK_NB) != 0 || !still_named(entry, name, lock))
    return false;
  entry->lock = mem_steal_descriptor(&lock);
  return true;
}

/* flock(2) knows no time-out and no cancel, so another process is waited
 * for in short steps that grow to 20 ms. The mutex is held on entry and exit.
 */
static int wait_for_lock(struct queue_entry *entry, struct err *err) {
  int64_t pause = CLOCK_MS;
  while (!entry->cancelled) {
    struct err fault = {0};
    if (try_lock(entry, &fault))
      return 0;
    if (fault.kind != ERR_NONE) {
      *err = fault;
      return -1;
    }
    int64_t until = clock_monotonic_ns() + pause;
    struct timespec wake = {until / CLOCK_S, until % CLOCK_S};
    pthread_cond_timedwait(&entry->queue->moved, &entry->queues->mutex, &wake);
    if (pause < 20 * CLOCK_MS)
      pause *= 2;
  }
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
}

int queue_wait(struct queue_entry *entry, struct err *err) {
  struct err fault = {0};
  pthread_mutex_lock(&entry->queues->mutex);
  while (entry->queue->first != entry && !entry->cancelled)
    pthread_cond_wait(&entry->queue->moved, &entry->queues->mutex);
  int result = wait_for_lock(entry, &fault);
  pthread_mutex_unlock(&entry->queues->mutex);
  if (result < 0 && err != NULL)
    *err = fault;
  return result;
}

void queue_cancel(struct queue_entry *entry) {
  pthread_mutex_lock(&entry->queues->mutex);
  entry->cancelled = true;
  pthread_cond_broadcast(&entry->queue->moved);
  pthread_mutex_unlock(&entry->queues->mutex);
}

int64_t queue_position(struct queue_entry *entry) {
  int64_t position = 0;
  pthread_mutex_lock(&entry->queues->mutex);
  for (struct queue_entry *other = entry->queue->first; other != entry;
       other = other->next)
    position++;
  pthread_mutex_unlock(&entry->queues->mutex);
  return position;
}

void queue_leave(struct queue_entry *entry) {
  if (entry == NULL)
    return;
  struct queues *queues = entry->queues;
  mem_close_descriptor(&entry->lock);
  pthread_mutex_lock(&queues->mutex);
  struct queue *queue = entry->queue;
  DL_DELETE(queue->first, entry);
  queue->length--;
  if (queue->first != NULL) {
    pthread_cond_broadcast(&queue->moved);
  } else {
    HASH_DEL(queues->queues, queue);
    pthread_cond_destroy(&queue->moved);
    free(queue);
  }
  pthread_mutex_unlock(&queues->mutex);
  free(entry);
}

struct queue_entry *queue_try(struct queues *queues, const char *task) {
  struct queue_entry *entry = NULL;
  pthread_mutex_lock(&queues->mutex);
  if (queue_of(queues, task, false) == NULL)
    entry = append(queues, queue_of(queues, task, true));
  pthread_mutex_unlock(&queues->mutex);
  return entry;
}

bool queue_lock(struct queue_entry *entry) {
  return entry->lock >= 0 || try_lock(entry, NULL);
}

void queue_forget(struct queue_entry *entry) {
  char name[ID_TASK_SIZE + 8];
  snprintf(name, sizeof name, "%s.lock", entry->queue->task);
  unlinkat(entry->queues->directory, name, 0);
}

int64_t queue_length(struct queues *queues, const char *task) {
  pthread_mutex_lock(&queues->mutex);
  struct queue *queue = queue_of(queues, task, false);
  int64_t length = queue == NULL ? 0 : queue->length;
  pthread_mutex_unlock(&queues->mutex);
  return length;
}
