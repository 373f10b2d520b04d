#include "core/run/late/drain.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/late/late.h"
#include "core/store/kernel.h"

/* How often idle kernels are looked at. */
#define ROUND_MS 100
/* Channels of kernels that ended unseen are looked for every so many rounds. */
#define SWEEP_ROUNDS 30
/* And so often what the registry could not take is tried again. */
#define RETRY_ROUNDS 10
/* Messages taken in one visit, so that a thread which prints without a pause
 * does not keep runs from their turn. */
#define DRAIN_MOST 4096

struct drain {
  struct engine *engine;
  pthread_t thread;
  int stop; /* eventfd */
};

/* Whether anything waits on an idle channel; shell and control replies to
 * nudges are thrown away on the way. */
static bool empty(struct engine *engine, struct cached_channel *cached,
                  struct queue_entry *entry) {
  int mask = channel_wait(cached->channel, NULL, 0, 0, NULL);
  if (mask <= 0 || !queue_lock(entry))
    return mask >= 0;
  struct known_kernel *known = cached->attachment;
  struct late_batch batch = {0};
  for (int name = 0; name < CHANNEL_HEARTBEAT; name++) {
    for (int i = 0; i < DRAIN_MOST; i++) {
      CLEANUP(message_free) struct message message = {0};
      if (channel_receive(cached->channel, (enum channel_name)name, &message,
                          NULL) <= 0)
        break;
      if (name == CHANNEL_IOPUB)
        late_take(engine, known, &batch, &message);
    }
  }
  late_flush(engine, known, &batch);
  return true;
}

static bool has_ended(struct engine *engine, const char *kernel_id) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  return kernel_get(engine->store, kernel_id, &kernel, NULL) == 0 &&
         kernel.ended_at != 0;
}

/* The channel is taken only while the task's turn is ours, so that no run
 * ever finds its channel missing. */
static void visit(struct engine *engine, const char *task,
                  const char *kernel_id, bool sweep) {
  struct queue_entry *entry = queue_try(engine->queues, task);
  if (entry == NULL)
    return;
  struct cached_channel *cached = channel_cache_take(engine->cache, kernel_id);
  if (cached != NULL) {
    if (empty(engine, cached, entry) &&
        !(sweep && has_ended(engine, kernel_id)))
      channel_cache_give(engine->cache, cached);
    else
      cached_channel_free(cached);
  }
  queue_leave(entry);
}

static void *work(void *argument) {
  struct drain *drain = argument;
  struct engine *engine = drain->engine;
  for (unsigned round = 1;; round++) {
    struct pollfd stop = {drain->stop, POLLIN, 0};
    if (poll(&stop, 1, ROUND_MS) > 0)
      return NULL;
    if (round % RETRY_ROUNDS == 0)
      endings_retry(engine->endings, engine->store, engine->tasks_directory);
    size_t count = 0;
    CLEANUP(mem_free_pointer)
    struct channel_cache_name *names =
        channel_cache_names(engine->cache, &count);
    for (size_t i = 0; i < count; i++)
      visit(engine, names[i].task, names[i].kernel_id,
            round % SWEEP_ROUNDS == 0);
  }
}

int drain_start(struct engine *engine, struct err *err) {
  struct drain *drain = mem_new(sizeof *drain);
  drain->engine = engine;
  drain->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int failure = pthread_create(&drain->thread, NULL, work, drain);
  if (failure != 0) {
    mem_close_descriptor(&drain->stop);
    free(drain);
    return err_errno(err, ERR_INTERNAL, failure, "drain thread");
  }
  engine->drain = drain;
  return 0;
}

void drain_stop(struct engine *engine) {
  struct drain *drain = MEM_STEAL(engine->drain);
  if (drain == NULL)
    return;
  eventfd_write(drain->stop, 1);
  pthread_join(drain->thread, NULL);
  mem_close_descriptor(&drain->stop);
  free(drain);
}
