#include "core/run/turn.h"

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
  struct turn *first; /* has the turn, or is about to */
  int64_t length;
  pthread_cond_t moved;
  UT_hash_handle hh;
};

struct turn {
  struct turns *turns;
  struct queue *queue;
  bool cancelled;
  int lock; /* descriptor of the lock file, or -1 */
  struct turn *prev, *next;
};

struct turns {
  pthread_mutex_t mutex;
  struct queue *queues;
  int directory;
  int64_t limit;
};

struct turns *turns_new(int directory, int64_t limit) {
  struct turns *turns = mem_new(sizeof *turns);
  pthread_mutex_init(&turns->mutex, NULL);
  turns->directory = directory;
  turns->limit = limit;
  return turns;
}

void turns_free(struct turns *turns) {
  if (turns == NULL)
    return;
  pthread_mutex_destroy(&turns->mutex);
  free(turns);
}

static struct queue *queue_of(struct turns *turns, const char *task,
                              bool make) {
  struct queue *queue = NULL;
  HASH_FIND_STR(turns->queues, task, queue);
  if (queue != NULL || !make)
    return queue;
  queue = mem_new(sizeof *queue);
  snprintf(queue->task, sizeof queue->task, "%s", task);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&queue->moved, &attributes);
  pthread_condattr_destroy(&attributes);
  HASH_ADD_STR(turns->queues, task, queue);
  return queue;
}

static struct turn *append(struct turns *turns, struct queue *queue) {
  struct turn *turn = mem_new(sizeof *turn);
  turn->turns = turns;
  turn->queue = queue;
  turn->lock = -1;
  DL_APPEND(queue->first, turn);
  queue->length++;
  return turn;
}

int turn_join(struct turns *turns, const char *task, struct turn **ret,
              struct err *err) {
  pthread_mutex_lock(&turns->mutex);
  struct queue *queue = queue_of(turns, task, true);
  int64_t waiting = queue->length - 1;
  struct turn *turn = waiting >= turns->limit ? NULL : append(turns, queue);
  pthread_mutex_unlock(&turns->mutex);
  if (turn == NULL)
    return err_set(err, ERR_BUSY,
                   "the queue of task %s is full: %lld %s already; "
                   "try again when one has ended",
                   task, (long long)waiting,
                   waiting == 1 ? "run waits" : "runs wait");
  *ret = turn;
  return 0;
}

/* The lock file may have been removed by turn_forget between our open and our
 * lock; then the name stands for another inode and the lock is worth nothing.
 */
static bool still_named(const struct turn *turn, const char *name, int lock) {
  struct stat named, held;
  return fstatat(turn->turns->directory, name, &named, 0) == 0 &&
         fstat(lock, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

static bool try_lock(struct turn *turn, struct err *err) {
  char name[ID_TASK_SIZE + 8];
  snprintf(name, sizeof name, "%s.lock", turn->queue->task);
  CLEANUP(mem_close_descriptor)
  int lock = openat(turn->turns->directory, name,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
  if (lock < 0) {
    err_errno(err, ERR_IO, errno, "lock file %s", name);
    return false;
  }
  if (flock(lock, LOCK_EX | LOCK_NB) != 0 || !still_named(turn, name, lock))
    return false;
  turn->lock = mem_steal_descriptor(&lock);
  return true;
}

/* flock(2) knows no time-out and no cancel, so another process's turn is waited
 * for in short steps that grow to 20 ms. The mutex is held on entry and exit.
 */
static int wait_for_lock(struct turn *turn, struct err *err) {
  int64_t pause = CLOCK_MS;
  while (!turn->cancelled) {
    struct err fault = {0};
    if (try_lock(turn, &fault))
      return 0;
    if (fault.kind != ERR_NONE) {
      *err = fault;
      return -1;
    }
    int64_t until = clock_monotonic_ns() + pause;
    struct timespec wake = {until / CLOCK_S, until % CLOCK_S};
    pthread_cond_timedwait(&turn->queue->moved, &turn->turns->mutex, &wake);
    if (pause < 20 * CLOCK_MS)
      pause *= 2;
  }
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
}

int turn_wait(struct turn *turn, struct err *err) {
  struct err fault = {0};
  pthread_mutex_lock(&turn->turns->mutex);
  while (turn->queue->first != turn && !turn->cancelled)
    pthread_cond_wait(&turn->queue->moved, &turn->turns->mutex);
  int result = wait_for_lock(turn, &fault);
  pthread_mutex_unlock(&turn->turns->mutex);
  if (result < 0 && err != NULL)
    *err = fault;
  return result;
}

void turn_cancel(struct turn *turn) {
  pthread_mutex_lock(&turn->turns->mutex);
  turn->cancelled = true;
  pthread_cond_broadcast(&turn->queue->moved);
  pthread_mutex_unlock(&turn->turns->mutex);
}

int64_t turn_position(struct turn *turn) {
  int64_t position = 0;
  pthread_mutex_lock(&turn->turns->mutex);
  for (struct turn *other = turn->queue->first; other != turn;
       other = other->next)
    position++;
  pthread_mutex_unlock(&turn->turns->mutex);
  return position;
}

void turn_leave(struct turn *turn) {
  if (turn == NULL)
    return;
  struct turns *turns = turn->turns;
  mem_close_descriptor(&turn->lock);
  pthread_mutex_lock(&turns->mutex);
  struct queue *queue = turn->queue;
  DL_DELETE(queue->first, turn);
  queue->length--;
  if (queue->first != NULL) {
    pthread_cond_broadcast(&queue->moved);
  } else {
    HASH_DEL(turns->queues, queue);
    pthread_cond_destroy(&queue->moved);
    free(queue);
  }
  pthread_mutex_unlock(&turns->mutex);
  free(turn);
}

struct turn *turn_try(struct turns *turns, const char *task) {
  struct turn *turn = NULL;
  pthread_mutex_lock(&turns->mutex);
  if (queue_of(turns, task, false) == NULL)
    turn = append(turns, queue_of(turns, task, true));
  pthread_mutex_unlock(&turns->mutex);
  return turn;
}

bool turn_lock(struct turn *turn) {
  return turn->lock >= 0 || try_lock(turn, NULL);
}

void turn_forget(struct turn *turn) {
  char name[ID_TASK_SIZE + 8];
  snprintf(name, sizeof name, "%s.lock", turn->queue->task);
  unlinkat(turn->turns->directory, name, 0);
}

int64_t turns_length(struct turns *turns, const char *task) {
  pthread_mutex_lock(&turns->mutex);
  struct queue *queue = queue_of(turns, task, false);
  int64_t length = queue == NULL ? 0 : queue->length;
  pthread_mutex_unlock(&turns->mutex);
  return length;
}
