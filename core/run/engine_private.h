/* The inside of the engine, for the files of core/run alone. */
#ifndef CELLPOST_RUN_ENGINE_PRIVATE_H
#define CELLPOST_RUN_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/fs.h"
#include "core/base/fs_later.h"
#include "core/base/id.h"
#include "core/jupyter/channel.h"
#include "core/jupyter/channel_cache.h"
#include "core/mime/mime.h"
#include "core/run/endings.h"
#include "core/run/engine.h"
#include "core/run/live.h"
#include "core/run/turn.h"

struct engine {
  const struct conf *conf;
  struct store *store;
  struct fs_later *later; /* sync = background; else NULL */
  struct channel_context *context;
  struct channel_cache *cache;
  struct turns *turns;
  struct live_runs *live;
  struct endings *endings;
  int tasks_directory;
  int turns_directory;
  char *keeper_socket;
  char instance[ID_UUID_SIZE];
  pthread_mutex_t mime_mutex;
  struct mime *mime; /* guarded by mime_mutex; NULL: extensions alone */
  pthread_t janitor;
  bool janitor_runs;
  int janitor_stop; /* eventfd */
};

/* fs_sync of the configuration for what must be on disk before the answer. */
static inline enum fs_sync engine_sync(const struct engine *engine) {
  return engine->conf->sync == CONF_SYNC_ALWAYS ? FS_SYNC_DATA : FS_SYNC_NONE;
}

#endif
