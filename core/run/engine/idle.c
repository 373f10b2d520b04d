#include "core/run/engine/idle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <uthash.h>

#include "core/base/mem.h"

/* Whose a watched descriptor is. A channel that was closed leaves its entry
 * behind until the number is used again; it is found out when the kernel has no
 * channel in the cache. */
struct watched {
  int descriptor;
  struct channel_cache_name name;
  UT_hash_handle hh;
};

struct idle {
  struct channel_cache *cache;
  int epoll, wake;
  pthread_mutex_t mutex; /* guards what follows */
  struct watched *watched;
  struct channel_cache_name *waiting; /* had messages when they were given */
  size_t waiting_count;
};

struct idle *idle_new(size_t limit, struct err *err) {
  struct idle *idle = mem_new(sizeof *idle);
  struct epoll_event event = {.events = EPOLLIN};
  idle->cache = channel_cache_new(limit);
  pthread_mutex_init(&idle->mutex, NULL);
  idle->epoll = epoll_create1(EPOLL_CLOEXEC);
  idle->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  event.data.fd = idle->wake;
  if (idle->epoll < 0 || idle->wake < 0 ||
      epoll_ctl(idle->epoll, EPOLL_CTL_ADD, idle->wake, &event) < 0) {
    err_errno(err, ERR_UNAVAILABLE, errno, "cannot watch idle kernels");
    idle_free(idle);
    return NULL;
  }
  return idle;
}

void idle_free(struct idle *idle) {
  if (idle == NULL)
    return;
  struct watched *watched, *next;
  HASH_ITER(hh, idle->watched, watched, next) {
    HASH_DEL(idle->watched, watched);
    free(watched);
  }
  channel_cache_free(idle->cache);
  mem_close_descriptor(&idle->epoll);
  mem_close_descriptor(&idle->wake);
  pthread_mutex_destroy(&idle->mutex);
  free(idle->waiting);
  free(idle);
}

/* A change of one descriptor tells once; then it is armed anew. */
static void arm(struct idle *idle, int descriptor, bool on) {
  struct epoll_event event = {.events = on ? EPOLLIN | EPOLLONESHOT : 0U,
                              .data.fd = descriptor};
  if (epoll_ctl(idle->epoll, EPOLL_CTL_MOD, descriptor, &event) < 0 && on)
    (void)epoll_ctl(idle->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static struct cached_channel *disarm(struct idle *idle,
                                     struct cached_channel *cached) {
  if (cached != NULL)
    arm(idle, channel_descriptor(cached->channel, CHANNEL_IOPUB), false);
  return cached;
}

struct cached_channel *idle_take(struct idle *idle, const char *task) {
  return disarm(idle, channel_cache_take_task(idle->cache, task));
}

struct cached_channel *idle_take_kernel(struct idle *idle, const char *kernel) {
  return disarm(idle, channel_cache_take(idle->cache, kernel));
}

static void remember(struct idle *idle, int descriptor,
                     const struct channel_cache_name *name) {
  struct watched *watched = NULL;
  HASH_FIND_INT(idle->watched, &descriptor, watched);
  if (watched == NULL) {
    watched = mem_new(sizeof *watched);
    watched->descriptor = descriptor;
    HASH_ADD_INT(idle->watched, descriptor, watched);
  }
  watched->name = *name;
}

/* A descriptor of libzmq is raised by what comes after the last look at the
 * channel; what had come before is looked for here. */
void idle_give(struct idle *idle, struct cached_channel *cached, int process) {
  struct channel_cache_name name = {0};
  memcpy(name.kernel_id, cached->kernel_id, sizeof name.kernel_id);
  memcpy(name.task, cached->task, sizeof name.task);
  int iopub = channel_descriptor(cached->channel, CHANNEL_IOPUB);
  bool has_messages = channel_wait_on(cached->channel, 1U << CHANNEL_IOPUB,
                                      NULL, 0, 0, NULL) > 0;
  pthread_mutex_lock(&idle->mutex);
  remember(idle, iopub, &name);
  remember(idle, process, &name);
  if (has_messages) {
    idle->waiting =
        mem_grow(idle->waiting, idle->waiting_count + 1, sizeof *idle->waiting);
    idle->waiting[idle->waiting_count++] = name;
  }
  pthread_mutex_unlock(&idle->mutex);
  channel_cache_give(idle->cache, cached);
  arm(idle, iopub, true);
  arm(idle, process, true);
  if (has_messages)
    idle_wake(idle);
}

void idle_wake(struct idle *idle) { eventfd_write(idle->wake, 1); }

static bool take_waiting(struct idle *idle, struct channel_cache_name *ret) {
  pthread_mutex_lock(&idle->mutex);
  bool found = idle->waiting_count > 0;
  if (found)
    *ret = idle->waiting[--idle->waiting_count];
  pthread_mutex_unlock(&idle->mutex);
  return found;
}

static bool find(struct idle *idle, int descriptor,
                 struct channel_cache_name *ret) {
  struct watched *watched = NULL;
  pthread_mutex_lock(&idle->mutex);
  HASH_FIND_INT(idle->watched, &descriptor, watched);
  if (watched != NULL)
    *ret = watched->name;
  pthread_mutex_unlock(&idle->mutex);
  return watched != NULL;
}

static bool is_idle(struct idle *idle, const char *kernel) {
  size_t count = 0;
  CLEANUP(mem_free_pointer)
  struct channel_cache_name *names = channel_cache_names(idle->cache, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i].kernel_id, kernel) == 0)
      return true;
  return false;
}

/* One event: 1 when it is an idle kernel's. */
static int look(struct idle *idle, int descriptor,
                struct channel_cache_name *ret) {
  eventfd_t count;
  if (descriptor == idle->wake) {
    eventfd_read(idle->wake, &count);
    return 0;
  }
  return find(idle, descriptor, ret) && is_idle(idle, ret->kernel_id);
}

int idle_wait(struct idle *idle, int timeout_ms,
              struct channel_cache_name *ret) {
  if (take_waiting(idle, ret))
    return is_idle(idle, ret->kernel_id);
  struct epoll_event event;
  int got = epoll_wait(idle->epoll, &event, 1, timeout_ms);
  return got <= 0 ? 0 : look(idle, event.data.fd, ret);
}
