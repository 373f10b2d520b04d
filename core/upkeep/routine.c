#include "core/upkeep/routine.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/worker.h"
#include "core/upkeep/gc.h"

#define FIRST_S 60.0

struct routine {
  const struct conf *conf;
  struct store *store;
  struct worker worker;
  atomic_bool stop; /* for a clean-up that is under way */
};

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
  while (worker_wait(&routine->worker, (int64_t)(pause * (double)CLOCK_S))) {
    clean_up(routine);
    pause = interval;
  }
  return NULL;
}

int routine_start(const struct conf *conf, struct store *store,
                  struct routine **ret, struct err *err) {
  *ret = NULL;
  if (conf->interval <= 0)
    return 0;
  struct routine *routine = mem_new(sizeof *routine);
  routine->conf = conf;
  routine->store = store;
  if (worker_start(&routine->worker, run, routine, "the clean-up thread", err) <
      0) {
    free(routine);
    return -1;
  }
  *ret = routine;
  return 0;
}

void routine_stop(struct routine *routine) {
  if (routine == NULL)
    return;
  atomic_store(&routine->stop, true);
  worker_stop(&routine->worker);
  free(routine);
}
