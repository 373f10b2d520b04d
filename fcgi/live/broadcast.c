#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/event.h"
#include "fcgi/live/broadcast_private.h"

#define STACK_SIZE ((size_t)256 << 10)
#define SWEEP (1 * CLOCK_S)
#define KEEPALIVE (15 * CLOCK_S)
/* Who takes nothing for so long is gone. */
#define STALLED (60 * CLOCK_S)

bool broadcast_reserve(struct broadcast *broadcast) {
  if (atomic_fetch_add(&broadcast->places, 1) < broadcast->most)
    return true;
  atomic_fetch_sub(&broadcast->places, 1);
  return false;
}

void broadcast_release(struct broadcast *broadcast) {
  atomic_fetch_sub(&broadcast->places, 1);
}

static void wake(struct broadcast *broadcast) {
  uint64_t one = 1;
  if (write(broadcast->wake, &one, sizeof one) < 0)
    log_error("eventfd: %s", strerror(errno));
}

void broadcast_add(struct broadcast *broadcast, struct watcher *watcher,
                   struct frames *first) {
  watcher_queue(watcher, first);
  frames_release(first);
  pthread_mutex_lock(&broadcast->mutex);
  bool stopping = broadcast->stopping;
  if (!stopping)
    DL_APPEND(broadcast->newcomers, watcher);
  pthread_mutex_unlock(&broadcast->mutex);
  if (!stopping) {
    wake(broadcast);
    return;
  }
  watcher_free(watcher);
  broadcast_release(broadcast);
}

static void look_after(struct broadcast *broadcast, struct watcher *watcher,
                       int64_t now) {
  int64_t silent = now - watcher->moved;
  if (watcher->count != 0 && silent >= STALLED)
    broadcast_leave(broadcast, watcher);
  else if (watcher->count == 0 && silent >= KEEPALIVE)
    broadcast_give(broadcast, watcher, broadcast->keepalive, now);
}

typedef void visit(struct broadcast *broadcast, struct watcher *watcher,
                   int64_t now);

static void visit_list(struct broadcast *broadcast, struct watcher *first,
                       visit *each) {
  int64_t now = clock_monotonic_ns();
  struct watcher *watcher = NULL, *next = NULL;
  DL_FOREACH_SAFE(first, watcher, next) { each(broadcast, watcher, now); }
}

static void visit_all(struct broadcast *broadcast, visit *each) {
  struct group *group = NULL, *next = NULL;
  visit_list(broadcast, broadcast->apart, each);
  HASH_ITER(hh, broadcast->groups, group, next) {
    visit_list(broadcast, group->watchers, each);
  }
}

static void send_off(struct broadcast *broadcast, struct watcher *watcher,
                     int64_t now) {
  watcher_end(watcher);
  watcher_send(watcher, now);
  broadcast_leave(broadcast, watcher);
}

static void admit(struct broadcast *broadcast, struct watcher *watcher) {
  DL_APPEND(broadcast->apart, watcher);
  atomic_fetch_add(&broadcast->metrics->watchers, 1);
  struct epoll_event event = {
      .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = watcher};
  if (epoll_ctl(broadcast->epoll, EPOLL_CTL_ADD, watcher->socket, &event) < 0) {
    log_error("epoll_ctl: %s", strerror(errno));
    broadcast_leave(broadcast, watcher);
  } else if (!watcher_send(watcher, clock_monotonic_ns())) {
    broadcast_leave(broadcast, watcher);
  }
}

/* With nobody watching the log was not read: what came meanwhile is nobody's,
 * and each newcomer says from where it wants to know. */
static void skip(struct broadcast *broadcast) {
  struct err err = {0};
  int64_t oldest;
  if (broadcast_is_idle(broadcast) &&
      event_bounds(broadcast->store, &oldest, &broadcast->position, &err) < 0)
    log_error("the live feed begins with what is old: %s", err.text);
}

/* False: the broadcast stops. */
static bool take_newcomers(struct broadcast *broadcast) {
  uint64_t count;
  if (read(broadcast->wake, &count, sizeof count) < 0 && errno != EAGAIN)
    log_error("eventfd: %s", strerror(errno));
  pthread_mutex_lock(&broadcast->mutex);
  struct watcher *newcomers = broadcast->newcomers;
  broadcast->newcomers = NULL;
  bool stopping = broadcast->stopping;
  pthread_mutex_unlock(&broadcast->mutex);
  if (newcomers != NULL)
    skip(broadcast);
  struct watcher *watcher = NULL, *next = NULL;
  DL_FOREACH_SAFE(newcomers, watcher, next) {
    DL_DELETE(newcomers, watcher);
    admit(broadcast, watcher);
  }
  return !stopping;
}

static void serve_socket(struct broadcast *broadcast, struct watcher *watcher,
                         uint32_t events) {
  bool stays = (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) == 0;
  if (stays && (events & EPOLLIN) != 0)
    stays = watcher_listen(watcher);
  if (stays && (events & EPOLLOUT) != 0) {
    watcher->full = false;
    stays = watcher_send(watcher, clock_monotonic_ns());
  }
  if (!stays)
    broadcast_leave(broadcast, watcher);
}

static int next_timeout(const struct broadcast *broadcast) {
  if (broadcast_is_idle(broadcast))
    return -1;
  int64_t next = broadcast->round_at < broadcast->sweep_at
                     ? broadcast->round_at
                     : broadcast->sweep_at;
  return clock_poll_timeout(next);
}

static void do_what_is_due(struct broadcast *broadcast) {
  if (clock_monotonic_ns() >= broadcast->round_at)
    broadcast_round(broadcast);
  if (clock_monotonic_ns() >= broadcast->sweep_at) {
    visit_all(broadcast, look_after);
    broadcast->sweep_at = clock_monotonic_ns() + SWEEP;
  }
  broadcast_tidy(broadcast);
}

static void *run(void *context) {
  struct broadcast *broadcast = context;
  struct epoll_event events[256];
  bool going = true;
  while (going) {
    int count = epoll_wait(broadcast->epoll, events, COUNT_OF(events),
                           next_timeout(broadcast));
    bool woken = false;
    for (int i = 0; i < count; i++) {
      woken |= events[i].data.ptr == NULL;
      if (events[i].data.ptr != NULL)
        serve_socket(broadcast, events[i].data.ptr, events[i].events);
    }
    if (woken)
      going = take_newcomers(broadcast);
    if (going && !broadcast_is_idle(broadcast))
      do_what_is_due(broadcast);
  }
  visit_all(broadcast, send_off);
  broadcast_tidy(broadcast);
  return NULL;
}

static int open_descriptors(struct broadcast *broadcast, struct err *err) {
  broadcast->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  broadcast->epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (broadcast->wake >= 0 && broadcast->epoll >= 0 &&
      epoll_ctl(broadcast->epoll, EPOLL_CTL_ADD, broadcast->wake, &event) == 0)
    return 0;
  return err_errno(err, ERR_IO, errno, "eventfd or epoll");
}

static int start_thread(struct broadcast *broadcast, struct err *err) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  int failure = pthread_create(&broadcast->thread, &attributes, run, broadcast);
  pthread_attr_destroy(&attributes);
  if (failure != 0)
    return err_errno(err, ERR_INTERNAL, failure, "the feed's thread");
  pthread_setname_np(broadcast->thread, "feed");
  return 0;
}

int broadcast_start(struct store *store, long most, struct metrics *metrics,
                    struct broadcast **ret, struct err *err) {
  struct broadcast *broadcast = mem_new(sizeof *broadcast);
  broadcast->store = store;
  broadcast->most = most;
  broadcast->metrics = metrics;
  pthread_mutex_init(&broadcast->mutex, NULL);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  buf_text(&text, ": keepalive\n\n");
  broadcast->keepalive = frames_new(&text, 0);
  *ret = broadcast;
  if (open_descriptors(broadcast, err) >= 0 &&
      start_thread(broadcast, err) >= 0)
    return 0;
  return -1;
}

void broadcast_stop(struct broadcast *broadcast) {
  pthread_mutex_lock(&broadcast->mutex);
  broadcast->stopping = true;
  pthread_mutex_unlock(&broadcast->mutex);
  wake(broadcast);
  pthread_join(broadcast->thread, NULL);
}
