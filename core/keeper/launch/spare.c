#include "core/keeper/launch/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/profile.h"
#include "core/keeper/kernels/registry.h"
#include "core/keeper/launch/launch.h"
#include "core/keeper/launch/spare_policy.h"
#include "core/keeper/zygote/zygote.h"

#define READY_NS (30 * CLOCK_S) /* from the fork to "ready" */
#define ANSWER_LIMIT_MS 250     /* to "take": its loop has nothing else to do */

struct spare {
  struct spare *next;
  struct keeper *keeper;
  char id[ID_UUID_SIZE];
  int64_t zygote; /* which it is a copy of */
  struct loop_source attendance;
  int64_t started_at, ready_at; /* monotonic; 0: not yet */
  bool ending;
};

struct spare_pool {
  struct spare *list; /* oldest first */
  int64_t started_at, taken_at;
  unsigned failures;
  int64_t zygotes_seen; /* when none was ready; -1: not tried yet */
};

static void end(struct spare *spare) {
  struct kernel *kernel = registry_find(spare->keeper, spare->id);
  loop_remove(&spare->keeper->loop, &spare->attendance);
  spare->ending = true;
  if (kernel != NULL)
    registry_discard(kernel);
}

static void give_up(struct spare *spare, const char *why) {
  log_warning("spare kernel %s: %s", spare->id, why);
  spare->keeper->spares->failures++;
  end(spare);
}

static void on_attendance(void *context) {
  struct spare *spare = context;
  char text[16];
  ssize_t got =
      recv(spare->attendance.descriptor, text, sizeof text, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got != (ssize_t)strlen("ready") || spare->ready_at != 0) {
    give_up(spare, "it has ended");
    return;
  }
  spare->ready_at = clock_monotonic_ns();
  spare->keeper->spares->failures = 0;
  log_debug("spare kernel %s is ready after %lld ms", spare->id,
            (long long)((spare->ready_at - spare->started_at) / CLOCK_MS));
}

int spare_open(struct keeper *keeper, struct err *err) {
  DIR *listing = fs_list(keeper->places.spares);
  if (listing == NULL)
    return err_errno(err, ERR_IO, errno, "cannot read the spares' directory");
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
    if (id_is_uuid(entry->d_name))
      fs_remove_tree(keeper->places.spares, entry->d_name, NULL);
  closedir(listing);
  keeper->spares = mem_new(sizeof *keeper->spares);
  keeper->spares->zygotes_seen = -1;
  return 0;
}

static void forget(struct keeper *keeper, struct spare **place) {
  struct spare *spare = *place;
  *place = spare->next;
  loop_remove(&keeper->loop, &spare->attendance);
  fs_remove_tree(keeper->places.spares, spare->id, NULL);
  free(spare);
}

void spare_close(struct keeper *keeper) {
  struct spare_pool *pool = keeper->spares;
  if (pool == NULL)
    return;
  while (pool->list != NULL) {
    end(pool->list);
    forget(keeper, &pool->list);
  }
  free(pool);
  keeper->spares = NULL;
}

size_t spare_count(const struct keeper *keeper) {
  size_t count = 0;
  if (keeper->spares != NULL)
    for (const struct spare *spare = keeper->spares->list; spare != NULL;
         spare = spare->next)
      count++;
  return count;
}

size_t spare_ready_count(const struct keeper *keeper) {
  size_t count = 0;
  if (keeper->spares != NULL)
    for (const struct spare *spare = keeper->spares->list; spare != NULL;
         spare = spare->next)
      count += !spare->ending && spare->ready_at != 0;
  return count;
}

/* The newest: it has cost no more than another, and is the least sure. */
void spare_give_way(struct keeper *keeper) {
  struct spare *last = NULL;
  if (keeper->spares == NULL)
    return;
  for (struct spare *spare = keeper->spares->list; spare != NULL;
       spare = spare->next)
    if (!spare->ending)
      last = spare;
  if (last != NULL)
    end(last);
}

static bool is_plain(const struct keeper *keeper,
                     const struct task_record *task) {
  const struct json *settings = task->settings;
  return strcmp(task->kernelspec, keeper->conf->kernelspec) == 0 &&
         json_length(json_get(settings, "env")) == 0 &&
         json_length(json_get(settings, "limits")) == 0 &&
         !json_as_boolean(json_get(settings, "strict"), false);
}

/* Nothing would be lost if the task's files were another directory. */
static bool is_untouched(int home) {
  CLEANUP(mem_close_descriptor)
  int files = openat(home, LAYOUT_FILES,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (files < 0)
    return errno == ENOENT;
  DIR *listing = fs_list(files);
  if (listing == NULL)
    return false;
  int count = 0;
  while (count <= 2 && readdir(listing) != NULL)
    count++;
  closedir(listing);
  return count <= 2;
}

/* Asks it, and tells it what is different for its task. */
static bool is_there(struct spare *spare, const char *files) {
  struct keeper *keeper = spare->keeper;
  CLEANUP(buf_free) struct buf question = BUF_INIT(BUF_LINE * 2);
  const struct profile_places places = profile_places(keeper, files, "");
  buf_text(&question, "take");
  buf_byte(&question, '\0');
  buf_format(&question, "HOME=%s", places.home);
  struct pollfd polled = {spare->attendance.descriptor, POLLIN, 0};
  char answer[16];
  return send(polled.fd, question.data, question.length, MSG_NOSIGNAL) > 0 &&
         poll(&polled, 1, ANSWER_LIMIT_MS) == 1 &&
         recv(polled.fd, answer, sizeof answer, MSG_DONTWAIT) ==
             (ssize_t)strlen("here");
}

/* As in launch.c, a row that must wait for a locked database comes later. */
static int give(struct spare *spare, int home, const struct task_record *task,
                struct kernel *kernel, struct err *err) {
  const struct kernel_record record = {
      .task = task->id,
      .kernelspec = task->kernelspec,
      .started_at = clock_wall_us(),
      .memory_limit =
          profile_memory_limit(spare->keeper, spare->keeper->conf->memory),
  };
  if (renameat(spare->keeper->places.spares, spare->id, home, LAYOUT_FILES) < 0)
    return err_errno(err, ERR_IO, errno, "its workspace cannot be moved");
  registry_give(kernel, &record);
  struct err fault = {0};
  if (registry_list(kernel, &fault) < 0 && fault.kind != ERR_UNAVAILABLE) {
    registry_disown(kernel);
    return err_set(err, fault.kind, "%s", fault.text);
  }
  return 0;
}

static struct kernel *try(struct spare *spare, int home,
                          const struct task_record *task) {
  struct keeper *keeper = spare->keeper;
  struct kernel *kernel = registry_find(keeper, spare->id);
  CLEANUP(mem_free_pointer)
  char *files = mem_format("%s/" LAYOUT_TASKS "/%s/" LAYOUT_FILES,
                           keeper->places.state, task->id);
  struct err err = {0};
  if (kernel == NULL || !zygote_is_current(keeper, spare->zygote) ||
      registry_is_over(kernel)) {
    end(spare);
    return NULL;
  }
  if (!is_there(spare, files)) {
    give_up(spare, "it does not answer");
    return NULL;
  }
  if (give(spare, home, task, kernel, &err) < 0) {
    give_up(spare, err.text);
    return NULL;
  }
  return kernel;
}

struct kernel *spare_take(struct keeper *keeper,
                          const struct task_record *task) {
  struct spare_pool *pool = keeper->spares;
  if (pool == NULL || pool->list == NULL || !is_plain(keeper, task))
    return NULL;
  CLEANUP(mem_close_descriptor)
  int home = places_make_owned(&keeper->places, keeper->places.tasks, task->id,
                               0755, NULL);
  if (home < 0 || !is_untouched(home))
    return NULL;
  pool->taken_at = clock_monotonic_ns();
  for (struct spare **place = &pool->list; *place != NULL;
       place = &(*place)->next) {
    struct spare *spare = *place;
    if (spare->ending || spare->ready_at == 0)
      continue;
    struct kernel *kernel = try(spare, home, task);
    if (kernel == NULL)
      continue;
    *place = spare->next;
    loop_remove(&keeper->loop, &spare->attendance);
    free(spare);
    return kernel;
  }
  return NULL;
}

/* Forgets those of which nothing is left. */
static void clear(struct keeper *keeper) {
  struct spare **place = &keeper->spares->list;
  while (*place != NULL) {
    const struct kernel *kernel = registry_find(keeper, (*place)->id);
    if (kernel == NULL || kernel->gone)
      forget(keeper, place);
    else
      place = &(*place)->next;
  }
}

/* Ends those that are too old, or do not get ready. */
static int64_t age(struct keeper *keeper, int64_t now) {
  double most = keeper->conf->spare_age;
  int64_t next = KEEPER_NEVER;
  for (struct spare *spare = keeper->spares->list; spare != NULL;
       spare = spare->next) {
    if (spare->ending)
      continue;
    if (spare->ready_at == 0 && now >= spare->started_at + READY_NS)
      give_up(spare, "it does not get ready");
    else if (spare->ready_at == 0)
      next = clock_sooner(next, spare->started_at + READY_NS);
    else if (spare_policy_is_old(spare->ready_at, now, most))
      end(spare);
    else if (most > 0)
      next = clock_sooner(next,
                          spare->ready_at + (int64_t)(most * (double)CLOCK_S));
  }
  return next;
}

static struct spare_view look(const struct keeper *keeper) {
  const struct spare_pool *pool = keeper->spares;
  struct spare_view view = {
      .wanted = keeper->closing ? 0 : keeper->conf->spares,
      .started_at = pool->started_at,
      .taken_at = pool->taken_at,
      .failures = pool->failures,
  };
  int64_t count = (int64_t)registry_count(keeper);
  for (const struct spare *spare = pool->list; spare != NULL;
       spare = spare->next) {
    view.ready += !spare->ending && spare->ready_at != 0;
    view.starting += !spare->ending && spare->ready_at == 0;
    count++;
  }
  view.room = keeper->conf->max_kernels - count;
  return view;
}

static void append(struct keeper *keeper, const char *id, int64_t zygote,
                   int attendance) {
  struct spare *spare = mem_new(sizeof *spare);
  *spare = (struct spare){.keeper = keeper,
                          .zygote = zygote,
                          .attendance = {attendance, on_attendance, spare},
                          .started_at = clock_monotonic_ns()};
  snprintf(spare->id, sizeof spare->id, "%s", id);
  struct spare **last = &keeper->spares->list;
  while (*last != NULL)
    last = &(*last)->next;
  *last = spare;
  struct err err = {0};
  if (loop_add(&keeper->loop, &spare->attendance, &err) >= 0)
    return;
  mem_close_descriptor(&spare->attendance.descriptor);
  give_up(spare, err.text);
}

static void make(struct keeper *keeper) {
  struct spare_pool *pool = keeper->spares;
  struct err err = {0};
  struct launch_result made = {0};
  int pair[2];
  pool->started_at = clock_monotonic_ns();
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return;
  CLEANUP(mem_close_descriptor) int near = pair[0];
  CLEANUP(mem_close_descriptor) int far = pair[1];
  const struct launch_order order = {.how = LAUNCH_FORKED, .attendance = far};
  if (launch(keeper, &order, &made, &err) >= 0) {
    append(keeper, made.kernel->id, made.zygote, mem_steal_descriptor(&near));
  } else if (err.kind == ERR_BUSY) {
    pool->zygotes_seen = keeper->zygotes_made;
  } else {
    pool->failures++;
    log_warning("no spare kernel: %s", err.text);
  }
}

/* Where no zygote was ready the next one that gets ready is waited for. */
int64_t spare_turn(struct keeper *keeper) {
  struct spare_pool *pool = keeper->spares;
  if (pool == NULL || !keeper->conf->warm)
    return KEEPER_NEVER;
  int64_t now = clock_monotonic_ns();
  clear(keeper);
  int64_t next = age(keeper, now);
  struct spare_view view = look(keeper);
  int64_t due = spare_policy_due(&view);
  if (due == KEEPER_NEVER || pool->zygotes_seen == keeper->zygotes_made)
    return next;
  if (due > now)
    return clock_sooner(next, due);
  make(keeper);
  return clock_sooner(next, clock_monotonic_ns() + SPARE_PAUSE_NS);
}
