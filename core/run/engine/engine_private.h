/* The parts of the engine, for the rooms of core/run alone. */
#ifndef CELLPOST_RUN_ENGINE_ENGINE_PRIVATE_H
#define CELLPOST_RUN_ENGINE_ENGINE_PRIVATE_H

#include <pthread.h>

#include "core/base/fs.h"
#include "core/base/fs_later.h"
#include "core/base/id.h"
#include "core/conf/conf.h"
#include "core/jupyter/channel.h"
#include "core/mime/mime.h"
#include "core/run/engine/endings.h"
#include "core/run/engine/idle.h"
#include "core/run/engine/live.h"
#include "core/run/engine/queue.h"

struct engine {
  const struct conf *conf;
  struct store *store;
  struct fs_later *later; /* sync = background; else NULL */
  struct channel_context *context;
  struct idle *idle; /* kernels with an open channel, between runs */
  struct queues *queues;
  struct live_runs *live;
  struct endings *endings;
  struct drain *drain;   /* of idle channels (late/drain.h), or NULL */
  struct visits *visits; /* late/visits.h; with drain */
  int tasks_directory;
  int queues_directory;
  char *keeper_socket;
  char instance[ID_UUID_SIZE];
  pthread_mutex_t mime_mutex;
  struct mime *mime; /* guarded by mime_mutex; NULL: extensions alone */
};

/* fs_sync of the configuration for what must be on disk before the answer. */
static inline enum fs_sync engine_sync(const struct engine *engine) {
  return engine->conf->sync == CONF_SYNC_ALWAYS ? FS_SYNC_DATA : FS_SYNC_NONE;
}

/* endings_finish; what is kept is tried again soon. */
static inline int engine_finish_run(struct engine *engine,
                                    const struct run_ending *ending,
                                    struct err *err) {
  int result = endings_finish(engine->endings, engine->store, ending, err);
  if (result < 0)
    idle_wake(engine->idle);
  return result;
}

#endif
