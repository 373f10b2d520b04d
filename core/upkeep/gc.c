#include "core/upkeep/gc.h"

#include <time.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/store/retention.h"
#include "core/upkeep/gc_files.h"

/* What one transaction looks at: some milliseconds' work. */
#define RUNS_AT_ONCE 50
#define EVENTS_AT_ONCE 500
#define TASKS_AT_ONCE 100

#define PAUSE_LEAST (2 * CLOCK_MS)
#define PAUSE_MOST (200 * CLOCK_MS)

struct gc {
  const struct conf *conf;
  const atomic_bool *stop;
  int64_t now; /* microseconds */
  struct gc_files files;
  struct gc_report report;
};

static bool goes_on(const struct gc *gc) {
  return gc->stop == NULL || !atomic_load(gc->stop);
}

/* As long as the step took, so that others have at least half of the time. */
static void pause_after(int64_t start) {
  int64_t pause = clock_monotonic_ns() - start;
  pause = pause < PAUSE_LEAST ? PAUSE_LEAST : pause;
  pause = pause > PAUSE_MOST ? PAUSE_MOST : pause;
  struct timespec time = {pause / CLOCK_S, pause % CLOCK_S};
  nanosleep(&time, NULL);
}

/* The moment before which something of that age (in seconds) is too old. */
static int64_t before(const struct gc *gc, double age) {
  return gc->now - (int64_t)(age * 1e6);
}

static int remove_runs(struct gc *gc, const struct retention_rule *rule,
                       struct err *err) {
  int64_t after = 0;
  int more = 1;
  while (more > 0 && goes_on(gc)) {
    CLEANUP(retention_files_free) struct retention_files gone = {0};
    int64_t start = clock_monotonic_ns();
    more = retention_remove_runs(gc->files.store, rule, RUNS_AT_ONCE, &after,
                                 &gc->report.runs, &gone, err);
    if (more >= 0)
      gc_remove_artifacts(&gc->files, &gone);
    pause_after(start);
  }
  return more < 0 ? -1 : 0;
}

static int remove_old_runs(struct gc *gc, struct err *err) {
  if (gc->conf->run_age <= 0)
    return 0;
  struct retention_rule rule = {.why = "age",
                                .before = before(gc, gc->conf->run_age)};
  return remove_runs(gc, &rule, err);
}

static int remove_beyond_bytes(struct gc *gc, const char *task,
                               struct err *err) {
  if (gc->conf->task_bytes <= 0)
    return 0;
  struct retention_rule rule = {
      .why = "bytes", .task = task, .before = INT64_MAX};
  int found = retention_find_cut(gc->files.store, task, gc->conf->task_bytes,
                                 &rule.cut, err);
  return found <= 0 ? found : remove_runs(gc, &rule, err);
}

static int look_at_task(struct gc *gc, const struct retention_task *task,
                        struct err *err) {
  bool expired = task->deleted_at != 0 && gc->conf->deleted_age > 0 &&
                 task->deleted_at < before(gc, gc->conf->deleted_age);
  if (expired && gc_remove_task(&gc->files, task->id, err) < 0)
    return -1;
  if (remove_beyond_bytes(gc, task->id, err) < 0)
    return -1;
  gc_remove_orphans(&gc->files, task->id);
  return 0;
}

/* Looks at a page of tasks behind *after, which moves on. 0: the end. */
static int look_at_page(struct gc *gc, char **after, struct err *err) {
  struct retention_task *list = NULL;
  size_t count = 0;
  if (retention_list_tasks(gc->files.store, *after, TASKS_AT_ONCE, &list,
                           &count, err) < 0)
    return -1;
  int result = count == TASKS_AT_ONCE;
  for (size_t i = 0; i < count && result >= 0 && goes_on(gc); i++)
    if (look_at_task(gc, &list[i], err) < 0)
      result = -1;
  if (count > 0) {
    mem_free_pointer(after);
    *after = mem_copy_text(list[count - 1].id);
  }
  retention_tasks_free(list, count);
  return result;
}

static int look_at_tasks(struct gc *gc, struct err *err) {
  CLEANUP(mem_free_pointer) char *after = mem_copy_text("");
  int result;
  do
    result = look_at_page(gc, &after, err);
  while (result > 0 && goes_on(gc));
  return result < 0 ? -1 : 0;
}

static int remove_old_events(struct gc *gc, struct err *err) {
  if (gc->conf->event_age <= 0)
    return 0;
  int removed;
  do {
    int64_t start = clock_monotonic_ns();
    removed = retention_remove_events(
        gc->files.store, before(gc, gc->conf->event_age), EVENTS_AT_ONCE, err);
    if (removed > 0)
      gc->report.events += removed;
    pause_after(start);
  } while (removed == EVENTS_AT_ONCE && goes_on(gc));
  return removed < 0 ? -1 : 0;
}

int gc_run(const struct conf *conf, struct store *store,
           const atomic_bool *stop, struct gc_report *ret, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_TASKS, conf->state_directory);
  CLEANUP(mem_close_descriptor) int tasks = fs_open_directory(path, err);
  if (tasks < 0)
    return -1;
  struct gc gc = {.conf = conf,
                  .stop = stop,
                  .now = clock_wall_us(),
                  .files = {.store = store, .tasks = tasks}};
  gc.files.removed = &gc.report.removed;
  if (remove_old_runs(&gc, err) < 0 || look_at_tasks(&gc, err) < 0 ||
      remove_old_events(&gc, err) < 0)
    return -1;
  gc_look_at_directories(&gc.files);
  *ret = gc.report;
  return 0;
}
