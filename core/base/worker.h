/* A thread beside the others that works until it is told to stop. Signals are
 * the main thread's: a worker gets none. */
#ifndef CELLPOST_BASE_WORKER_H
#define CELLPOST_BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct worker {
  pthread_t thread;
  pthread_mutex_t mutex; /* may guard the owner's data, too */
  pthread_cond_t changed;
  /* under the mutex: */
  bool stop;
  bool wake; /* set, and `changed` signalled: the present wait ends */
};

/* `name` says in the error which thread could not be had. ERR_UNAVAILABLE. */
int worker_start(struct worker *worker, void *(*run)(void *), void *argument,
                 const char *name, struct err *err);

/* For the thread itself: lets so many nanoseconds pass. False: it is time to
 * stop. */
bool worker_wait(struct worker *worker, int64_t pause);

/* The same for a thread that holds the mutex. */
bool worker_wait_locked(struct worker *worker, int64_t pause);

/* Waits until the thread has ended. */
void worker_stop(struct worker *worker);

#endif
