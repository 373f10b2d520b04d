#include "core/run/engine/live.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uthash.h>

#include "core/base/mem.h"

struct live_run_private {
  pthread_mutex_t mutex; /* guards collector and trail */
  struct collector *collector;
  struct trail *trail;
  struct queue_entry *entry; /* while it is queued */
  struct live_run *run;
  UT_hash_handle hh;
};

struct live_runs {
  pthread_mutex_t mutex;
  pthread_cond_t removed;
  struct live_run_private *by_id;
};

struct live_runs *live_runs_new(void) {
  struct live_runs *runs = mem_new(sizeof *runs);
  pthread_mutex_init(&runs->mutex, NULL);
  pthread_cond_init(&runs->removed, NULL);
  return runs;
}

void live_runs_free(struct live_runs *runs) {
  if (runs == NULL)
    return;
  pthread_cond_destroy(&runs->removed);
  pthread_mutex_destroy(&runs->mutex);
  free(runs);
}

struct live_run *live_add(struct live_runs *runs, const char *id,
                          const char *task, struct queue_entry *entry) {
  struct live_run *run = mem_new(sizeof *run);
  struct live_run_private *private = mem_new(sizeof *private);
  snprintf(run->id, sizeof run->id, "%s", id);
  snprintf(run->task, sizeof run->task, "%s", task);
  run->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  run->private = private;
  private->run = run;
  private->entry = entry;
  pthread_mutex_init(&private->mutex, NULL);
  pthread_mutex_lock(&runs->mutex);
  HASH_ADD_KEYPTR(hh, runs->by_id, run->id, strlen(run->id), private);
  pthread_mutex_unlock(&runs->mutex);
  return run;
}

void live_started(struct live_run *run, struct collector *collector,
                  struct trail *trail) {
  pthread_mutex_lock(&run->private->mutex);
  run->private->entry = NULL;
  run->private->collector = collector;
  run->private->trail = trail;
  pthread_mutex_unlock(&run->private->mutex);
}

void live_remove(struct live_runs *runs, struct live_run *run) {
  if (run == NULL)
    return;
  pthread_mutex_lock(&runs->mutex);
  HASH_DEL(runs->by_id, run->private);
  pthread_cond_broadcast(&runs->removed);
  pthread_mutex_unlock(&runs->mutex);
  pthread_mutex_destroy(&run->private->mutex);
  mem_close_descriptor(&run->wake);
  free(run->private);
  free(run);
}

void live_lock(struct live_run *run) {
  pthread_mutex_lock(&run->private->mutex);
}

void live_unlock(struct live_run *run) {
  pthread_mutex_unlock(&run->private->mutex);
}

static struct live_run_private *find(struct live_runs *runs, const char *id) {
  struct live_run_private *found = NULL;
  HASH_FIND_STR(runs->by_id, id, found);
  return found;
}

bool live_cancel(struct live_runs *runs, const char *id) {
  pthread_mutex_lock(&runs->mutex);
  struct live_run_private *found = find(runs, id);
  if (found != NULL) {
    pthread_mutex_lock(&found->mutex);
    if (found->entry != NULL)
      queue_cancel(found->entry);
    pthread_mutex_unlock(&found->mutex);
    uint64_t one = 1;
    ssize_t written = write(found->run->wake, &one, sizeof one);
    (void)written;
  }
  pthread_mutex_unlock(&runs->mutex);
  return found != NULL;
}

static bool look(struct live_runs *runs, const char *id, bool mark,
                 struct live_view *ret) {
  *ret = (struct live_view){0};
  pthread_mutex_lock(&runs->mutex);
  struct live_run_private *found = find(runs, id);
  if (found != NULL) {
    pthread_mutex_lock(&found->mutex);
    ret->started = found->entry == NULL;
    ret->position = ret->started ? 0 : queue_position(found->entry);
    ret->outputs = found->collector == NULL
                       ? json_array()
                       : collector_outputs(found->collector);
    if (mark && found->trail != NULL) {
      trail_cut(found->trail);
      ret->end = found->trail->end;
      ret->recorded = found->trail->recorded;
    }
    pthread_mutex_unlock(&found->mutex);
  }
  pthread_mutex_unlock(&runs->mutex);
  return found != NULL;
}

bool live_view(struct live_runs *runs, const char *id, struct live_view *ret) {
  return look(runs, id, true, ret);
}

bool live_look(struct live_runs *runs, const char *id, struct json **outputs,
               int64_t *position) {
  struct live_view seen;
  if (!look(runs, id, false, &seen))
    return false;
  *outputs = seen.outputs;
  *position = seen.position;
  return true;
}

bool live_wait(struct live_runs *runs, const char *id) {
  pthread_mutex_lock(&runs->mutex);
  bool was_here = find(runs, id) != NULL;
  while (find(runs, id) != NULL)
    pthread_cond_wait(&runs->removed, &runs->mutex);
  pthread_mutex_unlock(&runs->mutex);
  return was_here;
}

bool live_is_empty(struct live_runs *runs) {
  pthread_mutex_lock(&runs->mutex);
  bool none = runs->by_id == NULL;
  pthread_mutex_unlock(&runs->mutex);
  return none;
}
