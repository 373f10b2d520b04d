#include "core/run/engine/engine.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/process/process.h"
#include "core/run/engine/engine_private.h"

/* Channels kept open beyond the kernels that may live: none is ever useful, but
 * dead ones linger until somebody has closed them. */
#define SPARE_CHANNELS 16

static int open_directories(struct engine *engine, struct err *err) {
  const struct conf *conf = engine->conf;
  CLEANUP(mem_free_pointer)
  char *tasks = mem_format("%s/" LAYOUT_TASKS, conf->state_directory);
  CLEANUP(mem_free_pointer)
  char *queues = mem_format("%s/" LAYOUT_TURNS, conf->run_directory);
  if (fs_make_directories(tasks, 0755, err) < 0 ||
      fs_make_directories(queues, 0770, err) < 0)
    return -1;
  engine->tasks_directory = fs_open_directory(tasks, err);
  if (engine->tasks_directory < 0)
    return -1;
  engine->queues_directory = fs_open_directory(queues, err);
  return engine->queues_directory < 0 ? -1 : 0;
}

static int open_registry(struct engine *engine, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_DATABASE, engine->conf->state_directory);
  if (store_open(path, engine->conf->sync, &engine->store, err) < 0)
    return -1;
  id_new(engine->instance);
  int64_t pid = getpid();
  return store_instance_start(engine->store, engine->instance, "cellpost", pid,
                              process_start_time(pid), err);
}

int engine_open(const struct conf *conf, struct engine **ret, struct err *err) {
  struct engine *engine = mem_new(sizeof *engine);
  engine->conf = conf;
  engine->tasks_directory = engine->queues_directory = -1;
  engine->keeper_socket =
      mem_format("%s/" LAYOUT_KEEPER_SOCKET, conf->run_directory);
  pthread_mutex_init(&engine->mime_mutex, NULL);
  engine->mime = mime_open();
  engine->live = live_runs_new();
  engine->endings = endings_new();
  if (open_directories(engine, err) < 0 || open_registry(engine, err) < 0 ||
      channel_context_new(&engine->context, err) < 0) {
    engine_close(engine);
    return -1;
  }
  engine->idle = idle_new((size_t)conf->max_kernels + SPARE_CHANNELS, err);
  if (engine->idle == NULL) {
    engine_close(engine);
    return -1;
  }
  engine->queues = queues_new(engine->queues_directory, conf->queue);
  *ret = engine;
  return 0;
}

void engine_close(struct engine *engine) {
  if (engine == NULL)
    return;
  idle_free(engine->idle);
  fs_later_stop(engine->later);
  channel_context_free(engine->context);
  queues_free(engine->queues);
  live_runs_free(engine->live);
  if (engine->store != NULL) {
    endings_retry(engine->endings, engine->store, -1);
    store_instance_end(engine->store, engine->instance, NULL);
  }
  endings_free(engine->endings);
  store_close(engine->store);
  mime_close(engine->mime);
  mem_close_descriptor(&engine->tasks_directory);
  mem_close_descriptor(&engine->queues_directory);
  free(engine->keeper_socket);
  pthread_mutex_destroy(&engine->mime_mutex);
  free(engine);
}

struct store *engine_store(struct engine *engine) {
  return engine->store;
}

const struct conf *engine_conf(const struct engine *engine) {
  return engine->conf;
}

int engine_tasks_directory(const struct engine *engine) {
  return engine->tasks_directory;
}

bool engine_is_ready(struct engine *engine, struct err *err) {
  if (store_probe(engine->store, err) < 0) {
    err_wrap(err, "registry");
    return false;
  }
  struct control_kernel unused;
  if (control_status(engine->keeper_socket, NULL, &unused, err) < 0) {
    err_wrap(err, "keeper");
    return false;
  }
  return true;
}
