#include "core/run/live.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uthash.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

struct live_run_private {
  pthread_mutex_t mutex; /* guards collector and trail */
  struct collector *collector;
  struct run_trail *trail;
  struct turn *turn; /* while it is queued */
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
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&runs->removed, &attributes);
  pthread_condattr_destroy(&attributes);
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
                          const char *task, struct turn *turn) {
  struct live_run *run = mem_new(sizeof *run);
  struct live_run_private *private = mem_new(sizeof *private);
  snprintf(run->id, sizeof run->id, "%s", id);
  snprintf(run->task, sizeof run->task, "%s", task);
  run->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  run->private = private;
  private->run = run;
  private->turn = turn;
  pthread_mutex_init(&private->mutex, NULL);
  pthread_mutex_lock(&runs->mutex);
  HASH_ADD_KEYPTR(hh, runs->by_id, run->id, strlen(run->id), private);
  pthread_mutex_unlock(&runs->mutex);
  return run;
}

void live_started(struct live_run *run, struct collector *collector,
                  struct run_trail *trail) {
  pthread_mutex_lock(&run->private->mutex);
  run->private->turn = NULL;
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
    if (found->turn != NULL)
      turn_cancel(found->turn);
    pthread_mutex_unlock(&found->mutex);
    uint64_t one = 1;
    ssize_t written = write(found->run->wake, &one, sizeof one);
    (void)written;
  }
  pthread_mutex_unlock(&runs->mutex);
  return found != NULL;
}

bool live_running(struct live_runs *runs, const char *task,
                  char id[ID_UUID_SIZE]) {
  bool running = false;
  pthread_mutex_lock(&runs->mutex);
  for (struct live_run_private *one = runs->by_id; one != NULL && !running;
       one = one->hh.next) {
    if (strcmp(one->run->task, task) != 0)
      continue;
    pthread_mutex_lock(&one->mutex);
    running = one->turn == NULL;
    pthread_mutex_unlock(&one->mutex);
    if (running)
      memcpy(id, one->run->id, ID_UUID_SIZE);
  }
  pthread_mutex_unlock(&runs->mutex);
  return running;
}

static bool look(struct live_runs *runs, const char *id, bool mark,
                 struct live_view *ret) {
  *ret = (struct live_view){0};
  pthread_mutex_lock(&runs->mutex);
  struct live_run_private *found = find(runs, id);
  if (found != NULL) {
    pthread_mutex_lock(&found->mutex);
    ret->started = found->turn == NULL;
    ret->position = ret->started ? 0 : turn_position(found->turn);
    ret->outputs = found->collector == NULL
                       ? json_array()
                       : collector_outputs(found->collector);
    if (mark && found->trail != NULL) {
      run_trail_cut(found->trail);
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

bool live_wait_all(struct live_runs *runs, int64_t deadline_ns) {
  struct timespec until = {deadline_ns / CLOCK_S, deadline_ns % CLOCK_S};
  pthread_mutex_lock(&runs->mutex);
  int result = 0;
  while (runs->by_id != NULL && result == 0)
    result = pthread_cond_timedwait(&runs->removed, &runs->mutex, &until);
  bool none = runs->by_id == NULL;
  pthread_mutex_unlock(&runs->mutex);
  return none;
}
