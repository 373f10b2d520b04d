#include "core/upkeep/routine.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/upkeep/gc.h"

#define FIRST_S 60.0

struct routine {
  const struct conf *conf;
  struct store *store;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t stopped;
  atomic_bool stop; /* set under the mutex */
};

/* False: it is time to stop. */
static bool wait_for(struct routine *routine, double seconds) {
  int64_t until = clock_monotonic_ns() + (int64_t)(seconds * (double)CLOCK_S);
  struct timespec end = {until / CLOCK_S, until % CLOCK_S};
  pthread_mutex_lock(&routine->mutex);
  int late = 0;
  while (!atomic_load(&routine->stop) && late == 0)
    late = pthread_cond_timedwait(&routine->stopped, &routine->mutex, &end);
  bool go_on = !atomic_load(&routine->stop);
  pthread_mutex_unlock(&routine->mutex);
  return go_on;
}

static void clean_up(struct routine *routine) {
  struct gc_report report;
  struct err err = {0};
  if (gc_run(routine->conf, routine->store, &routine->stop, &report, &err) <
      0) {
    log_error("clean-up: %s", err.text);
    return;
  }
  if (report.runs > 0 || report.removed.files > 0 || report.removed.tasks > 0)
    log_info("clean-up: %lld runs, %lld files (%lld bytes), the files of %lld "
             "tasks removed",
             (long long)report.runs, (long long)report.removed.files,
             (long long)report.removed.bytes, (long long)report.removed.tasks);
}

static void *run(void *argument) {
  struct routine *routine = argument;
  double interval = routine->conf->interval;
  double pause = interval < FIRST_S ? interval : FIRST_S;
  while (wait_for(routine, pause)) {
    clean_up(routine);
    pause = interval;
  }
  return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct routine *routine) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int number = pthread_create(&routine->thread, NULL, run, routine);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number;
}

static void release(struct routine *routine) {
  pthread_cond_destroy(&routine->stopped);
  pthread_mutex_destroy(&routine->mutex);
  free(routine);
}

int routine_start(const struct conf *conf, struct store *store,
                  struct routine **ret, struct err *err) {
  *ret = NULL;
  if (conf->interval <= 0)
    return 0;
  struct routine *routine = mem_new(sizeof *routine);
  routine->conf = conf;
  routine->store = store;
  pthread_mutex_init(&routine->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&routine->stopped, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int number = start_thread(routine);
  if (number != 0) {
    release(routine);
    return err_errno(err, ERR_UNAVAILABLE, number, "the clean-up thread");
  }
  *ret = routine;
  return 0;
}

void routine_stop(struct routine *routine) {
  if (routine == NULL)
    return;
  pthread_mutex_lock(&routine->mutex);
  atomic_store(&routine->stop, true);
  pthread_cond_signal(&routine->stopped);
  pthread_mutex_unlock(&routine->mutex);
  pthread_join(routine->thread, NULL);
  release(routine);
}
