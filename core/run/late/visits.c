#include "core/run/late/visits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"

struct visit {
  struct visits *visits;
  struct queue_entry *entry; /* while it is in the list */
  char task[ID_TASK_SIZE];
  char subject[64];
  void (*work)(struct engine *engine, const char *task, const char *subject);
  struct visit *prev, *next;
};

struct visits {
  struct engine *engine;
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  struct visit *first;
  int count; /* those in the list, and those that are about to end */
  bool stopped;
};

struct visits *visits_new(struct engine *engine) {
  struct visits *visits = mem_new(sizeof *visits);
  visits->engine = engine;
  pthread_mutex_init(&visits->mutex, NULL);
  pthread_cond_init(&visits->ended, NULL);
  return visits;
}

static void forget(struct visit *visit) {
  struct visits *visits = visit->visits;
  pthread_mutex_lock(&visits->mutex);
  DL_DELETE(visits->first, visit);
  pthread_mutex_unlock(&visits->mutex);
  queue_leave(visit->entry);
  pthread_mutex_lock(&visits->mutex);
  visits->count--;
  pthread_cond_signal(&visits->ended);
  pthread_mutex_unlock(&visits->mutex);
  free(visit);
}

static void *visit_task(void *argument) {
  struct visit *visit = argument;
  log_set_task(visit->task);
  if (queue_wait(visit->entry, NULL) == 0)
    visit->work(visit->visits->engine, visit->task, visit->subject);
  forget(visit);
  return NULL;
}

static bool add(struct visits *visits, struct visit *visit) {
  pthread_mutex_lock(&visits->mutex);
  bool accepted = !visits->stopped;
  if (accepted) {
    DL_APPEND(visits->first, visit);
    visits->count++;
  }
  pthread_mutex_unlock(&visits->mutex);
  return accepted;
}

void visits_add(struct visits *visits, const char *task, const char *subject,
                void (*work)(struct engine *engine, const char *task,
                             const char *subject)) {
  struct visit *visit = mem_new(sizeof *visit);
  struct err err = {0};
  visit->visits = visits;
  visit->work = work;
  snprintf(visit->task, sizeof visit->task, "%s", task);
  snprintf(visit->subject, sizeof visit->subject, "%s", subject);
  if (queue_join_aside(visits->engine->queues, task, &visit->entry, &err) < 0) {
    log_error("task %s cannot be looked at: %s", task, err.text);
    free(visit);
    return;
  }
  if (!add(visits, visit)) {
    queue_leave(visit->entry);
    free(visit);
    return;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, visit_task, visit) == 0)
    pthread_detach(thread);
  else
    forget(visit);
}

void visits_stop(struct visits *visits) {
  if (visits == NULL)
    return;
  pthread_mutex_lock(&visits->mutex);
  visits->stopped = true;
  const struct visit *visit;
  DL_FOREACH(visits->first, visit) {
    /* cppcheck-suppress uninitvar ; the macro sets it */
    queue_cancel(visit->entry);
  }
  while (visits->count > 0)
    pthread_cond_wait(&visits->ended, &visits->mutex);
  pthread_mutex_unlock(&visits->mutex);
  pthread_cond_destroy(&visits->ended);
  pthread_mutex_destroy(&visits->mutex);
  free(visits);
}
