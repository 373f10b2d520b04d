#include "core/run/late/drain.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/late/late.h"
#include "core/run/late/visits.h"

/* Messages taken in one visit, so that a thread which prints without a pause
 * does not keep runs from their turn. */
#define DRAIN_MOST 4096
/* What the registry could not take is tried again so often. */
#define RETRY_MS 1000

struct drain {
  struct engine *engine;
  pthread_t thread;
  atomic_bool stop;
};

static void drain_iopub(struct engine *engine, struct cached_channel *cached) {
  struct late_batch batch = {0};
  for (int i = 0; i < DRAIN_MOST; i++) {
    CLEANUP(message_free) struct message message = {0};
    if (channel_receive(cached->channel, CHANNEL_IOPUB, &message, NULL) <= 0)
      break;
    late_take(engine, cached->attachment, &batch, &message);
  }
  late_flush(engine, cached->attachment, &batch);
}

/* In the task's turn. What is left is told again when the channel is given
 * back. */
static void visit(struct engine *engine, const char *task, const char *kernel) {
  (void)task;
  struct cached_channel *cached = idle_take_kernel(engine->idle, kernel);
  if (cached == NULL)
    return;
  const struct known_kernel *known = cached->attachment;
  struct pollfd process = {known->process, POLLIN, 0};
  bool ended = poll(&process, 1, 0) > 0;
  drain_iopub(engine, cached);
  if (ended)
    cached_channel_free(cached);
  else
    idle_give(engine->idle, cached, known->process);
}

static void *work(void *argument) {
  struct drain *drain = argument;
  struct engine *engine = drain->engine;
  struct channel_cache_name name;
  while (!atomic_load(&drain->stop)) {
    bool waits = endings_wait(engine->endings);
    if (idle_wait(engine->idle, waits ? RETRY_MS : -1, &name) == 1)
      visits_add(engine->visits, name.task, name.kernel_id, visit);
    else if (waits)
      endings_retry(engine->endings, engine->store, engine->tasks_directory);
  }
  return NULL;
}

int drain_start(struct engine *engine, struct err *err) {
  struct drain *drain = mem_new(sizeof *drain);
  drain->engine = engine;
  engine->visits = visits_new(engine);
  int failure = pthread_create(&drain->thread, NULL, work, drain);
  if (failure != 0) {
    free(drain);
    return err_errno(err, ERR_UNAVAILABLE, failure,
                     "the thread for late output");
  }
  engine->drain = drain;
  return 0;
}

void drain_stop(struct engine *engine) {
  struct drain *drain = MEM_STEAL(engine->drain);
  if (drain != NULL) {
    atomic_store(&drain->stop, true);
    idle_wake(engine->idle);
    pthread_join(drain->thread, NULL);
    free(drain);
  }
  visits_stop(MEM_STEAL(engine->visits));
}
