#include "core/base/worker.h"

#include <signal.h>
#include <time.h>

#include "core/base/clock.h"

static void release(struct worker *worker) {
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->mutex);
}

int worker_start(struct worker *worker, void *(*run)(void *), void *argument,
                 const char *name, struct err *err) {
  pthread_condattr_t monotonic;
  worker->stop = worker->wake = false;
  pthread_mutex_init(&worker->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&worker->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int number = pthread_create(&worker->thread, NULL, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (number == 0)
    return 0;
  release(worker);
  return err_errno(err, ERR_UNAVAILABLE, number, "%s", name);
}

bool worker_wait_locked(struct worker *worker, int64_t pause) {
  int64_t until = clock_monotonic_ns() + pause;
  struct timespec end = {until / CLOCK_S, until % CLOCK_S};
  int late = 0;
  while (!worker->stop && !worker->wake && late == 0)
    late = pthread_cond_timedwait(&worker->changed, &worker->mutex, &end);
  worker->wake = false;
  return !worker->stop;
}

bool worker_wait(struct worker *worker, int64_t pause) {
  pthread_mutex_lock(&worker->mutex);
  bool go_on = worker_wait_locked(worker, pause);
  pthread_mutex_unlock(&worker->mutex);
  return go_on;
}

void worker_stop(struct worker *worker) {
  pthread_mutex_lock(&worker->mutex);
  worker->stop = true;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->mutex);
  pthread_join(worker->thread, NULL);
  release(worker);
}
