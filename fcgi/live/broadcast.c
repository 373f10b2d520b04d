#include "fcgi/live/broadcast.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/access/token.h"
#include "fcgi/live/audience.h"

#define STACK_SIZE ((size_t)256 << 10)
#define ROUND (20 * CLOCK_MS)
/* A pause is so many times the processor time of the round before it: with very
 * many watchers events come in larger pieces, less often. */
#define ROUND_SHARE 3
/* The log cannot be read: again after so long. */
#define TROUBLE (1 * CLOCK_S)
/* The log is read so long after the last change of the database: a change is
 * told before others can see it. */
#define AFTERMATH (1 * CLOCK_S)
#define SWEEP_LEAST (1 * CLOCK_S)
#define ASK_AGAIN (10 * CLOCK_S)
#define KEEPALIVE (15 * CLOCK_S)
/* Who takes nothing for so long is gone. */
#define STALLED (60 * CLOCK_S)

struct broadcast {
  long most; /* watchers */
  int wake;  /* eventfd */
  int epoll;
  int changes; /* inotify, of the database's directory */
  const char *directory;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards the next two */
  struct watcher *newcomers;
  bool stopping;

  /* the thread's own, but for the places */
  struct audience audience;
  struct frames *keepalive;
  int watched; /* what inotify watches; -1: nothing, for nobody does */
  int64_t round_at, sweep_at;
  int64_t quiet_at; /* from then on there is nothing new to be read */
};

bool broadcast_reserve(struct broadcast *broadcast) {
  if (atomic_fetch_add(&broadcast->audience.places, 1) < broadcast->most)
    return true;
  atomic_fetch_sub(&broadcast->audience.places, 1);
  return false;
}

void broadcast_release(struct broadcast *broadcast) {
  atomic_fetch_sub(&broadcast->audience.places, 1);
}

static void wake(struct broadcast *broadcast) {
  uint64_t one = 1;
  if (write(broadcast->wake, &one, sizeof one) < 0)
    log_error("eventfd: %s", strerror(errno));
}

void broadcast_add(struct broadcast *broadcast, struct watcher *watcher,
                   struct frames *first) {
  watcher_queue(watcher, first);
  watcher_frames_release(first);
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

static void send_off(void *context, struct watcher *watcher) {
  struct broadcast *broadcast = context;
  watcher_end(watcher);
  watcher_send(watcher, clock_monotonic_ns());
  audience_leave(&broadcast->audience, watcher);
}

/* Whether what was shown at the beginning is still taken; asked now and then. A
 * database that cannot be asked is no reason to end it. */
static bool is_welcome(struct broadcast *broadcast, struct watcher *watcher,
                       int64_t now) {
  const char *why;
  CLEANUP(token_record_free) struct token_record token = {0};
  if (watcher->token[0] == '\0')
    return true;
  bool due = now - watcher->asked >= ASK_AGAIN;
  if (due)
    watcher->asked = now;
  if (watcher->asked + ASK_AGAIN < broadcast->sweep_at)
    broadcast->sweep_at = watcher->asked + ASK_AGAIN;
  return !due ||
         token_find(broadcast->audience.store, watcher->token, &token, NULL) <
             0 ||
         token_is_good(&token, watcher->token, clock_wall_us(), &why);
}

static void look_after(void *context, struct watcher *watcher) {
  struct broadcast *broadcast = context;
  int64_t now = clock_monotonic_ns();
  if (!is_welcome(broadcast, watcher, now)) {
    send_off(broadcast, watcher);
    return;
  }
  int64_t due = watcher->moved + (watcher->count != 0 ? STALLED : KEEPALIVE);
  if (due < broadcast->sweep_at)
    broadcast->sweep_at = due;
  if (due > now)
    return;
  if (watcher->count != 0)
    audience_leave(&broadcast->audience, watcher);
  else
    audience_give(&broadcast->audience, watcher, broadcast->keepalive, now);
}

static void sweep(struct broadcast *broadcast) {
  int64_t now = clock_monotonic_ns();
  broadcast->sweep_at = now + KEEPALIVE;
  audience_visit(&broadcast->audience, look_after, broadcast);
  if (broadcast->sweep_at < now + SWEEP_LEAST)
    broadcast->sweep_at = now + SWEEP_LEAST;
}

/* Every event that is put into the log changes the database's files. Where that
 * cannot be seen, the log is read all the time. */
static void watch_changes(struct broadcast *broadcast) {
  if (broadcast->watched < 0)
    broadcast->watched =
        inotify_add_watch(broadcast->changes, broadcast->directory, IN_MODIFY);
  broadcast->quiet_at =
      broadcast->watched < 0 ? INT64_MAX : clock_monotonic_ns() + AFTERMATH;
}

static void unwatch_changes(struct broadcast *broadcast) {
  if (broadcast->watched >= 0)
    inotify_rm_watch(broadcast->changes, broadcast->watched);
  broadcast->watched = -1;
}

static void take_changes(struct broadcast *broadcast) {
  char events[4096];
  bool changed = false;
  while (read(broadcast->changes, events, sizeof events) > 0)
    changed = true;
  if (changed && broadcast->watched >= 0)
    broadcast->quiet_at = clock_monotonic_ns() + AFTERMATH;
}

static void admit(struct broadcast *broadcast, struct watcher *watcher) {
  struct epoll_event event = {
      .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = watcher};
  audience_add(&broadcast->audience, watcher);
  bool stays =
      epoll_ctl(broadcast->epoll, EPOLL_CTL_ADD, watcher->socket, &event) == 0;
  if (!stays)
    log_error("epoll_ctl: %s", strerror(errno));
  if (!stays || !watcher_send(watcher, clock_monotonic_ns()))
    audience_leave(&broadcast->audience, watcher);
}

/* With nobody watching the log was not read: what came meanwhile is nobody's,
 * and each newcomer says from where it wants to know. */
static void skip(struct broadcast *broadcast) {
  struct err err = {0};
  if (audience_is_idle(&broadcast->audience) &&
      audience_skip_news(&broadcast->audience, &err) < 0)
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
  if (newcomers != NULL) {
    skip(broadcast);
    watch_changes(broadcast);
  }
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
    audience_leave(&broadcast->audience, watcher);
}

/* Whether there may be anything to give, to those who are behind at least. */
static bool has_news(const struct broadcast *broadcast) {
  return audience_is_behind(&broadcast->audience) ||
         broadcast->round_at < broadcast->quiet_at;
}

static int next_timeout(const struct broadcast *broadcast) {
  if (audience_is_idle(&broadcast->audience))
    return -1;
  bool reads = has_news(broadcast) && broadcast->round_at < broadcast->sweep_at;
  return clock_poll_timeout(reads ? broadcast->round_at : broadcast->sweep_at);
}

static int64_t spent_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * CLOCK_S + time.tv_nsec;
}

static void do_round(struct broadcast *broadcast) {
  struct err err = {0};
  int64_t before = spent_ns();
  if (audience_give_news(&broadcast->audience, &err) < 0) {
    log_error("the live feed pauses: %s", err.text);
    broadcast->round_at = clock_monotonic_ns() + TROUBLE;
    if (broadcast->quiet_at < broadcast->round_at + AFTERMATH)
      broadcast->quiet_at = broadcast->round_at + AFTERMATH;
    return;
  }
  int64_t pause = ROUND_SHARE * (spent_ns() - before);
  broadcast->round_at = clock_monotonic_ns() + (pause > ROUND ? pause : ROUND);
}

static void do_what_is_due(struct broadcast *broadcast) {
  int64_t now = clock_monotonic_ns();
  bool sweeps = now >= broadcast->sweep_at;
  if (sweeps || (has_news(broadcast) && now >= broadcast->round_at))
    do_round(broadcast);
  if (sweeps)
    sweep(broadcast);
  audience_tidy(&broadcast->audience);
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
      void *which = events[i].data.ptr;
      if (which == NULL)
        woken = true;
      else if (which == broadcast)
        take_changes(broadcast);
      else
        serve_socket(broadcast, which, events[i].events);
    }
    if (woken)
      going = take_newcomers(broadcast);
    if (going && !audience_is_idle(&broadcast->audience))
      do_what_is_due(broadcast);
    if (audience_is_idle(&broadcast->audience))
      unwatch_changes(broadcast);
  }
  audience_visit(&broadcast->audience, send_off, broadcast);
  audience_tidy(&broadcast->audience);
  return NULL;
}

static int open_descriptors(struct broadcast *broadcast, struct err *err) {
  broadcast->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  broadcast->epoll = epoll_create1(EPOLL_CLOEXEC);
  broadcast->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  struct epoll_event change = {.events = EPOLLIN, .data.ptr = broadcast};
  if (broadcast->wake < 0 || broadcast->epoll < 0 ||
      epoll_ctl(broadcast->epoll, EPOLL_CTL_ADD, broadcast->wake, &event) < 0 ||
      (broadcast->changes >= 0 && epoll_ctl(broadcast->epoll, EPOLL_CTL_ADD,
                                            broadcast->changes, &change) < 0))
    return err_errno(err, ERR_IO, errno, "eventfd or epoll");
  return 0;
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

int broadcast_start(struct store *store, const struct conf *conf,
                    struct metrics *metrics, struct broadcast **ret,
                    struct err *err) {
  struct broadcast *broadcast = mem_new(sizeof *broadcast);
  broadcast->most = (long)conf->watchers;
  broadcast->directory = conf->state_directory;
  broadcast->watched = -1;
  broadcast->audience.store = store;
  broadcast->audience.metrics = metrics;
  pthread_mutex_init(&broadcast->mutex, NULL);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  buf_text(&text, ": keepalive\n\n");
  broadcast->keepalive = watcher_frames_new(&text, 0);
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
