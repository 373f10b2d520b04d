#include "core/run/engine/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/control/task_lock.h"

/* One task's queue; exists while somebody is in it. */
struct queue {
  char task[ID_TASK_SIZE];
  struct queue_entry *first; /* has its turn, or is about to */
  int64_t length;            /* of runs */
  pthread_cond_t moved;
  UT_hash_handle hh;
};

/* The wait for other processes: a thread blocks in the system, so that whoever
 * waits for it can be called off. The last of both frees it. */
struct await {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct task_lock lock; /* reopened */
  bool done, cancelled;
  int users;
};

struct queue_entry {
  struct queues *queues;
  struct queue *queue;
  bool is_run;
  bool cancelled;
  struct task_lock lock;
  struct await *await; /* while it waits for other processes */
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

static struct queue *find_or_make(struct queues *queues, const char *task) {
  struct queue *queue = NULL;
  HASH_FIND_STR(queues->queues, task, queue);
  if (queue != NULL)
    return queue;
  queue = mem_new(sizeof *queue);
  snprintf(queue->task, sizeof queue->task, "%s", task);
  pthread_cond_init(&queue->moved, NULL);
  HASH_ADD_STR(queues->queues, task, queue);
  return queue;
}

static void free_when_empty(struct queues *queues, struct queue *queue) {
  if (queue->first != NULL)
    return;
  HASH_DEL(queues->queues, queue);
  pthread_cond_destroy(&queue->moved);
  free(queue);
}

/* The number between processes is taken under the mutex: so both orders are the
 * same, and an earlier entry of this process never waits for a later one. */
static int append(struct queues *queues, struct queue *queue, bool is_run,
                  struct queue_entry **ret, struct err *err) {
  struct task_lock lock;
  int64_t waiting = queue->length - 1;
  if (is_run && waiting >= queues->limit)
    return err_set(err, ERR_BUSY,
                   "the queue of task %s is full: %lld %s already; try again "
                   "when one has ended",
                   queue->task, (long long)waiting,
                   waiting == 1 ? "run waits" : "runs wait");
  if (task_lock_join(queues->directory, queue->task, &lock, err) < 0)
    return -1;
  struct queue_entry *entry = mem_new(sizeof *entry);
  entry->queues = queues;
  entry->queue = queue;
  entry->is_run = is_run;
  entry->lock = lock;
  DL_APPEND(queue->first, entry);
  queue->length += is_run;
  *ret = entry;
  return 0;
}

static int join(struct queues *queues, const char *task, bool is_run,
                struct queue_entry **ret, struct err *err) {
  pthread_mutex_lock(&queues->mutex);
  struct queue *queue = find_or_make(queues, task);
  int result = append(queues, queue, is_run, ret, err);
  free_when_empty(queues, queue);
  pthread_mutex_unlock(&queues->mutex);
  return result;
}

int queue_join(struct queues *queues, const char *task,
               struct queue_entry **ret, struct err *err) {
  return join(queues, task, true, ret, err);
}

int queue_join_aside(struct queues *queues, const char *task,
                     struct queue_entry **ret, struct err *err) {
  return join(queues, task, false, ret, err);
}

static void await_leave(struct await *await) {
  pthread_mutex_lock(&await->mutex);
  bool last = --await->users == 0;
  pthread_mutex_unlock(&await->mutex);
  if (!last)
    return;
  pthread_cond_destroy(&await->changed);
  pthread_mutex_destroy(&await->mutex);
  mem_close_descriptor(&await->lock.file);
  free(await);
}

static void *await_first(void *argument) {
  struct await *await = argument;
  task_lock_await(&await->lock, NULL);
  pthread_mutex_lock(&await->mutex);
  await->done = true;
  pthread_cond_signal(&await->changed);
  pthread_mutex_unlock(&await->mutex);
  await_leave(await);
  return NULL;
}

static void await_cancel(struct await *await) {
  pthread_mutex_lock(&await->mutex);
  await->cancelled = true;
  pthread_cond_signal(&await->changed);
  pthread_mutex_unlock(&await->mutex);
}

/* NULL: no thread can be had; then the caller waits itself. */
static struct await *await_start(const struct task_lock *lock) {
  struct task_lock reopened;
  if (task_lock_reopen(lock, &reopened, NULL) < 0)
    return NULL;
  struct await *await = mem_new(sizeof *await);
  pthread_mutex_init(&await->mutex, NULL);
  pthread_cond_init(&await->changed, NULL);
  await->lock = reopened;
  await->users = 2;
  pthread_t thread;
  if (pthread_create(&thread, NULL, await_first, await) == 0) {
    pthread_detach(thread);
    return await;
  }
  await->users = 1;
  await_leave(await);
  return NULL;
}

/* The mutex of the queues is held on entry and exit. */
static void wait_for_processes(struct queue_entry *entry) {
  pthread_mutex_t *mutex = &entry->queues->mutex;
  struct await *await = await_start(&entry->lock);
  entry->await = await;
  pthread_mutex_unlock(mutex);
  if (await == NULL) {
    task_lock_await(&entry->lock, NULL);
  } else {
    pthread_mutex_lock(&await->mutex);
    while (!await->done && !await->cancelled)
      pthread_cond_wait(&await->changed, &await->mutex);
    pthread_mutex_unlock(&await->mutex);
  }
  pthread_mutex_lock(mutex);
  entry->await = NULL;
  if (await != NULL)
    await_leave(await);
}

/* A file that was removed meanwhile is worth nothing: the entry is last in
 * the new one, but still first in this process. */
static int take_turn(struct queue_entry *entry, struct err *err) {
  struct queues *queues = entry->queues;
  const char *task = entry->queue->task;
  while (!entry->cancelled) {
    if (!task_lock_is_first(&entry->lock)) {
      wait_for_processes(entry);
      continue;
    }
    if (task_lock_is_valid(queues->directory, task, &entry->lock))
      return 0;
    task_lock_leave(&entry->lock);
    if (task_lock_join(queues->directory, task, &entry->lock, err) < 0)
      return -1;
  }
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
}

int queue_wait(struct queue_entry *entry, struct err *err) {
  pthread_mutex_t *mutex = &entry->queues->mutex;
  pthread_mutex_lock(mutex);
  while (entry->queue->first != entry && !entry->cancelled)
    pthread_cond_wait(&entry->queue->moved, mutex);
  int result = take_turn(entry, err);
  pthread_mutex_unlock(mutex);
  return result;
}

bool queue_is_next(struct queue_entry *entry) {
  struct queues *queues = entry->queues;
  pthread_mutex_lock(&queues->mutex);
  bool is_next =
      entry->queue->first == entry && task_lock_is_first(&entry->lock) &&
      task_lock_is_valid(queues->directory, entry->queue->task, &entry->lock);
  pthread_mutex_unlock(&queues->mutex);
  return is_next;
}

void queue_cancel(struct queue_entry *entry) {
  pthread_mutex_lock(&entry->queues->mutex);
  entry->cancelled = true;
  pthread_cond_broadcast(&entry->queue->moved);
  if (entry->await != NULL)
    await_cancel(entry->await);
  pthread_mutex_unlock(&entry->queues->mutex);
}

int64_t queue_position(struct queue_entry *entry) {
  int64_t position = 0;
  pthread_mutex_lock(&entry->queues->mutex);
  for (const struct queue_entry *other = entry->queue->first; other != entry;
       other = other->next)
    position += other->is_run;
  pthread_mutex_unlock(&entry->queues->mutex);
  return position;
}

void queue_leave(struct queue_entry *entry) {
  if (entry == NULL)
    return;
  struct queues *queues = entry->queues;
  pthread_mutex_lock(&queues->mutex);
  struct queue *queue = entry->queue;
  task_lock_leave(&entry->lock);
  DL_DELETE(queue->first, entry);
  queue->length -= entry->is_run;
  pthread_cond_broadcast(&queue->moved);
  free_when_empty(queues, queue);
  pthread_mutex_unlock(&queues->mutex);
  free(entry);
}

void queue_note_begun(struct queue_entry *entry, const char *run,
                      bool recorded) {
  if (entry != NULL)
    task_lock_note_begun(&entry->lock, run, recorded);
}

void queue_forget(struct queue_entry *entry) {
  task_lock_remove(entry->queues->directory, entry->queue->task);
}

int64_t queue_length(struct queues *queues, const char *task) {
  struct queue *queue = NULL;
  pthread_mutex_lock(&queues->mutex);
  HASH_FIND_STR(queues->queues, task, queue);
  int64_t length = queue == NULL ? 0 : queue->length;
  pthread_mutex_unlock(&queues->mutex);
  return length;
}
