#include "fcgi/transport/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fcgi/handlers/metrics.h"
#include "fcgi/http/dispatch.h"
#include "fcgi/live/broadcast.h"
#include "fcgi/transport/door.h"

#define STACK_SIZE ((size_t)512 << 10)
#define BACK_OFF_MS 100

struct server {
  struct engine *engine;
  struct listener *listener;
  struct metrics metrics;
  struct broadcast *broadcast; /* stays: a late request may still come */
  int signals;                 /* signalfd */
  int drained;           /* eventfd: readable when nobody works any more */
  atomic_long complaint; /* the second of the last line about accept */
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t stopped;
  bool stopping; /* nothing new is wanted */
  bool closed;   /* the engine is about to go */
  long living;   /* threads */
  long busy;     /* of them serving a request */
};

static void waited_signals(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGINT);
}

/* All but those that a fault of this process raises: they must be seen. */
void server_block_signals(void) {
  static const int faults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                               SIGABRT, SIGTRAP, SIGSYS};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < COUNT_OF(faults); i++)
    sigdelset(&set, faults[i]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* An inherited socket keeps idle threads in accept; they end with the
 * process. */
static bool is_drained(const struct server *server) {
  return server->busy == 0 &&
         (server->living == 0 || server->listener->inherited);
}

static void tell_if_drained(struct server *server) {
  uint64_t one = 1;
  if (server->stopping && is_drained(server) &&
      write(server->drained, &one, sizeof one) < 0)
    log_error("eventfd: %s", strerror(errno));
}

/* False when the engine must not be used any more. */
static bool enter(struct server *server) {
  pthread_mutex_lock(&server->mutex);
  bool open = !server->closed;
  server->busy += open;
  pthread_mutex_unlock(&server->mutex);
  return open;
}

static void leave(struct server *server) {
  pthread_mutex_lock(&server->mutex);
  server->busy--;
  tell_if_drained(server);
  pthread_mutex_unlock(&server->mutex);
}

/* One line a second at most, whatever the number of threads. */
static void complain(struct server *server, int number) {
  long now = (long)(clock_monotonic_ns() / CLOCK_S);
  long before = atomic_exchange(&server->complaint, now);
  if (before != now)
    log_error("cannot accept a request: %s", strerror(number));
}

/* Descriptors or memory ran out: what is being served will give some back.
 * False when the server stops. */
static bool back_off(struct server *server, int number) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += BACK_OFF_MS * CLOCK_MS;
  until.tv_sec += until.tv_nsec / CLOCK_S;
  until.tv_nsec %= CLOCK_S;
  pthread_mutex_lock(&server->mutex);
  bool going = !server->stopping;
  if (going)
    pthread_cond_timedwait(&server->stopped, &server->mutex, &until);
  pthread_mutex_unlock(&server->mutex);
  if (going)
    complain(server, number);
  return going;
}

static void *work(void *context) {
  struct server *server = context;
  struct door *door = door_open(server->listener->descriptor);
  for (;;) {
    int result = door_accept(door);
    if (result != 0) {
      if (!back_off(server, -result))
        break;
      continue;
    }
    if (!enter(server))
      break;
    dispatch(server->engine, &server->metrics, server->broadcast, door);
    leave(server);
  }
  door_close(door);
  pthread_mutex_lock(&server->mutex);
  server->living--;
  tell_if_drained(server);
  pthread_mutex_unlock(&server->mutex);
  return NULL;
}

/* Detached: the end of each is counted, and none is waited for by name. */
static int start_threads(struct server *server, struct err *err) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  long wanted = (long)engine_conf(server->engine)->threads;
  int failure = 0;
  run_places_open(&server->metrics.places, wanted);
  pthread_mutex_lock(&server->mutex);
  for (; server->living < wanted && failure == 0;
       server->living += failure == 0) {
    pthread_t thread;
    failure = pthread_create(&thread, &attributes, work, server);
  }
  server->metrics.threads = server->living;
  pthread_mutex_unlock(&server->mutex);
  pthread_attr_destroy(&attributes);
  if (server->metrics.threads == 0)
    return err_errno(err, ERR_INTERNAL, failure, "cannot start a thread");
  run_places_open(&server->metrics.places, server->metrics.threads);
  if (failure != 0)
    log_warning("only %ld of %ld threads could be started: %s",
                server->metrics.threads, wanted, strerror(failure));
  return 0;
}

/* 1: a signal came; 0: drained; -1: the deadline passed. */
static int wait_for(struct server *server, bool drained, int64_t deadline) {
  struct pollfd polled[] = {
      {.fd = server->signals, .events = POLLIN},
      {.fd = drained ? server->drained : -1, .events = POLLIN}};
  for (;;) {
    int timeout = deadline == 0 ? -1 : clock_poll_timeout(deadline);
    int ready = poll(polled, COUNT_OF(polled), timeout);
    if (ready < 0 && errno == EINTR)
      continue;
    struct signalfd_siginfo seen;
    uint64_t count;
    if (polled[1].revents != 0 &&
        read(server->drained, &count, sizeof count) > 0)
      return 0;
    if (ready > 0 && read(server->signals, &seen, sizeof seen) > 0)
      return 1;
    if (ready == 0)
      return -1;
  }
}

static void stop(struct server *server) {
  pthread_mutex_lock(&server->mutex);
  server->stopping = true;
  log_info("stopping; %ld requests are being served", server->busy);
  tell_if_drained(server);
  pthread_cond_broadcast(&server->stopped);
  pthread_mutex_unlock(&server->mutex);
  listener_stop(server->listener);
  broadcast_stop(server->broadcast);
}

/* 0 when nobody uses the engine any more, nor ever will. */
static int drain(struct server *server) {
  int64_t deadline = clock_monotonic_ns() + SERVER_DRAIN * CLOCK_S;
  int end;
  do {
    end = wait_for(server, true, deadline);
    pthread_mutex_lock(&server->mutex);
    server->closed = is_drained(server);
    if (end != 0 && !server->closed)
      log_warning("%s: %ld requests are cut off",
                  end == 1 ? "a second signal" : "time is up", server->busy);
    pthread_mutex_unlock(&server->mutex);
  } while (end == 0 && !server->closed);
  return server->closed ? 0 : 1;
}

int server_run(struct engine *engine, struct listener *listener,
               struct err *err) {
  sigset_t set;
  waited_signals(&set);
  /* For as long as the process lives: threads may outlive this function. */
  static struct server the_server;
  struct server *server = &the_server;
  server->engine = engine;
  server->listener = listener;
  server->signals = signalfd(-1, &set, SFD_CLOEXEC);
  server->drained = eventfd(0, EFD_CLOEXEC);
  pthread_mutex_init(&server->mutex, NULL);
  pthread_cond_init(&server->stopped, NULL);
  if (server->signals < 0 || server->drained < 0)
    return err_errno(err, ERR_IO, errno, "signalfd or eventfd");
  if (broadcast_start(engine_store(engine), (long)engine_conf(engine)->watchers,
                      &server->metrics, &server->broadcast, err) < 0 ||
      start_threads(server, err) < 0)
    return -1;
  log_info("serving with %ld threads", server->metrics.threads);
  wait_for(server, false, 0);
  stop(server);
  return drain(server);
}
