#include "core/run/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/process/process.h"
#include "core/run/engine_private.h"
#include "core/run/late.h"
#include "core/run/mend.h"
#include "core/store/replay.h"
#include "core/store/run.h"

/* Channels kept open beyond the kernels that may live: none is ever useful, but
 * dead ones linger until the janitor's next round. */
#define SPARE_CHANNELS 16

static int open_directories(struct engine *engine, struct err *err) {
  const struct conf *conf = engine->conf;
  CLEANUP(mem_free_pointer)
  char *tasks = mem_format("%s/" LAYOUT_TASKS, conf->state_directory);
  CLEANUP(mem_free_pointer)
  char *turns = mem_format("%s/" LAYOUT_TURNS, conf->run_directory);
  if (fs_make_directories(tasks, 0755, err) < 0 ||
      fs_make_directories(turns, 0770, err) < 0)
    return -1;
  engine->tasks_directory = fs_open_directory(tasks, err);
  if (engine->tasks_directory < 0)
    return -1;
  engine->turns_directory = fs_open_directory(turns, err);
  return engine->turns_directory < 0 ? -1 : 0;
}

static int open_registry(struct engine *engine, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_DATABASE, engine->conf->state_directory);
  if (store_open(path, engine->conf->sync, &engine->store, err) < 0)
    return -1;
  id_new(engine->instance);
  int64_t pid = getpid();
  if (store_instance_start(engine->store, engine->instance, "cellpost", pid,
                           process_start_time(pid), err) < 0)
    return -1;
  return replay_close_lost(engine->store, process_is_alive, err);
}

int engine_open(const struct conf *conf, struct engine **ret, struct err *err) {
  struct engine *engine = mem_new(sizeof *engine);
  engine->conf = conf;
  engine->tasks_directory = engine->turns_directory = -1;
  engine->janitor_stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  engine->keeper_socket =
      mem_format("%s/" LAYOUT_KEEPER_SOCKET, conf->run_directory);
  pthread_mutex_init(&engine->mime_mutex, NULL);
  engine->mime = mime_open();
  engine->live = live_runs_new();
  engine->endings = endings_new();
  if (open_directories(engine, err) < 0 || open_registry(engine, err) < 0 ||
      channel_context_new(&engine->context, err) < 0) {
    engine_close(engine, 0);
    return -1;
  }
  engine->cache = channel_cache_new((size_t)conf->max_kernels + SPARE_CHANNELS);
  engine->turns = turns_new(engine->turns_directory, conf->queue);
  if (mend_after_death(engine, err) < 0) {
    engine_close(engine, 0);
    return -1;
  }
  *ret = engine;
  return 0;
}

static void tell_sync_failure(void *context, const struct err *err) {
  (void)context;
  log_error("%s", err->text);
}

int engine_start(struct engine *engine, struct err *err) {
  if (store_maintain(engine->store, err) < 0)
    return -1;
  if (engine->conf->sync == CONF_SYNC_BACKGROUND &&
      fs_later_start(tell_sync_failure, NULL, &engine->later, err) < 0)
    return -1;
  int failure = pthread_create(&engine->janitor, NULL, late_janitor, engine);
  if (failure != 0)
    return err_errno(err, ERR_INTERNAL, failure, "janitor thread");
  engine->janitor_runs = true;
  return 0;
}

static void stop_janitor(struct engine *engine) {
  if (!engine->janitor_runs)
    return;
  uint64_t one = 1;
  ssize_t written = write(engine->janitor_stop, &one, sizeof one);
  (void)written;
  pthread_join(engine->janitor, NULL);
  engine->janitor_runs = false;
}

void engine_close(struct engine *engine, double seconds) {
  if (engine == NULL)
    return;
  int64_t deadline =
      clock_monotonic_ns() + (int64_t)(seconds * (double)CLOCK_S);
  /* Threads that still lead a run use everything below: then the process ends
   * without tidying up, which it may do at any time. */
  if (engine->live != NULL && !live_wait_all(engine->live, deadline))
    return;
  stop_janitor(engine);
  channel_cache_free(engine->cache);
  fs_later_stop(engine->later);
  channel_context_free(engine->context);
  turns_free(engine->turns);
  live_runs_free(engine->live);
  if (engine->store != NULL)
    endings_retry(engine->endings, engine->store, -1);
  endings_free(engine->endings);
  if (engine->store != NULL)
    store_instance_end(engine->store, engine->instance, NULL);
  store_close(engine->store);
  mime_close(engine->mime);
  mem_close_descriptor(&engine->tasks_directory);
  mem_close_descriptor(&engine->turns_directory);
  mem_close_descriptor(&engine->janitor_stop);
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
  int64_t version;
  if (store_version(engine->store, &version, err) < 0) {
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
