#include "fcgi/transport/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"

#define STACK_SIZE ((size_t)512 << 10)
#define BACK_OFF_MS 100

/* For as long as the process lives: threads may outlive every function. */
static struct server {
  struct listener *listener;
  server_work *work;
  void *context;
  int signals;           /* signalfd */
  int drained;           /* eventfd: readable when nobody works any more */
  atomic_long complaint; /* the second of the last line about accept */
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t stopped;
  bool stopping; /* nothing new is wanted */
  bool closed;   /* `context` is about to go */
  long living;   /* threads */
  long busy;     /* of them serving a request */
} server = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .stopped = PTHREAD_COND_INITIALIZER};

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
static bool is_drained(void) {
  return server.busy == 0 && (server.living == 0 || server.listener->inherited);
}

static void tell_if_drained(void) {
  uint64_t one = 1;
  if (server.stopping && is_drained() &&
      write(server.drained, &one, sizeof one) < 0)
    log_error("eventfd: %s", strerror(errno));
}

/* False when `context` must not be used any more. */
static bool enter(void) {
  pthread_mutex_lock(&server.mutex);
  bool open = !server.closed;
  server.busy += open;
  pthread_mutex_unlock(&server.mutex);
  return open;
}

static void leave(void) {
  pthread_mutex_lock(&server.mutex);
  server.busy--;
  tell_if_drained();
  pthread_mutex_unlock(&server.mutex);
}

/* One line a second at most, whatever the number of threads. */
static void complain(int number) {
  long now = (long)(clock_monotonic_ns() / CLOCK_S);
  long before = atomic_exchange(&server.complaint, now);
  if (before != now)
    log_error("cannot accept a request: %s", strerror(number));
}

/* Descriptors or memory ran out: what is being served will give some back.
 * False when the server stops. */
static bool back_off(int number) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += BACK_OFF_MS * CLOCK_MS;
  until.tv_sec += until.tv_nsec / CLOCK_S;
  until.tv_nsec %= CLOCK_S;
  pthread_mutex_lock(&server.mutex);
  bool going = !server.stopping;
  if (going)
    pthread_cond_timedwait(&server.stopped, &server.mutex, &until);
  pthread_mutex_unlock(&server.mutex);
  if (going)
    complain(number);
  return going;
}

static void *serve(void *unused) {
  (void)unused;
  struct door *door = door_open(server.listener->descriptor);
  for (;;) {
    int result = door_accept(door);
    if (result < 0 && back_off(-result))
      continue;
    if (result < 0 || !enter())
      break;
    server.work(server.context, door);
    leave();
  }
  door_close(door);
  pthread_mutex_lock(&server.mutex);
  server.living--;
  tell_if_drained();
  pthread_mutex_unlock(&server.mutex);
  return NULL;
}

/* Detached: the end of each is counted, and none is waited for by name. Returns
 * how many there are; *failure is why there are not more. */
static long start_threads(long wanted, int *failure) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_mutex_lock(&server.mutex);
  while (server.living < wanted && *failure == 0) {
    pthread_t thread;
    *failure = pthread_create(&thread, &attributes, serve, NULL);
    server.living += *failure == 0;
  }
  long started = server.living;
  pthread_mutex_unlock(&server.mutex);
  pthread_attr_destroy(&attributes);
  return started;
}

long server_start(struct listener *listener, long wanted, server_work *work,
                  void *context, struct err *err) {
  sigset_t set;
  int failure = 0;
  waited_signals(&set);
  server.listener = listener;
  server.work = work;
  server.context = context;
  server.signals = signalfd(-1, &set, SFD_CLOEXEC);
  server.drained = eventfd(0, EFD_CLOEXEC);
  if (server.signals < 0 || server.drained < 0)
    return err_errno(err, ERR_IO, errno, "signalfd or eventfd");
  long started = start_threads(wanted, &failure);
  if (started == 0)
    return err_errno(err, ERR_INTERNAL, failure, "cannot start a thread");
  if (failure != 0)
    log_warning("only %ld of %ld threads could be started: %s", started, wanted,
                strerror(failure));
  log_info("serving with %ld threads", started);
  return started;
}

/* 1: a signal came; 0: drained; -1: the deadline passed. */
static int wait_for(bool drained, int64_t deadline) {
  struct pollfd polled[] = {
      {.fd = server.signals, .events = POLLIN},
      {.fd = drained ? server.drained : -1, .events = POLLIN}};
  for (;;) {
    int timeout = deadline == 0 ? -1 : clock_poll_timeout(deadline);
    int ready = poll(polled, COUNT_OF(polled), timeout);
    if (ready < 0 && errno == EINTR)
      continue;
    struct signalfd_siginfo seen;
    uint64_t count;
    if (polled[1].revents != 0 &&
        read(server.drained, &count, sizeof count) > 0)
      return 0;
    if (ready > 0 && read(server.signals, &seen, sizeof seen) > 0)
      return 1;
    if (ready == 0)
      return -1;
  }
}

void server_wait(void) {
  wait_for(false, 0);
  pthread_mutex_lock(&server.mutex);
  server.stopping = true;
  log_info("stopping; %ld requests are being served", server.busy);
  tell_if_drained();
  pthread_cond_broadcast(&server.stopped);
  pthread_mutex_unlock(&server.mutex);
  listener_stop(server.listener);
}

int server_drain(void) {
  int64_t deadline = clock_monotonic_ns() + SERVER_DRAIN * CLOCK_S;
  int end;
  do {
    end = wait_for(true, deadline);
    pthread_mutex_lock(&server.mutex);
    server.closed = is_drained();
    if (end != 0 && !server.closed)
      log_warning("%s: %ld requests are cut off",
                  end == 1 ? "a second signal" : "time is up", server.busy);
    pthread_mutex_unlock(&server.mutex);
  } while (end == 0 && !server.closed);
  return server.closed ? 0 : 1;
}
