#include "fcgi/http/departure.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/run.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct departure *first;
static size_t count;
static int changed = -1; /* eventfd: the list is another one */
static bool runs;        /* the thread */

static void tell_thread(void) {
  uint64_t one = 1;
  ssize_t written = write(changed, &one, sizeof one);
  (void)written; /* EAGAIN: it has been told already */
}

/* Under the mutex. */
static void unlink_one(const struct departure *departure) {
  struct departure **at = &first;
  while (*at != NULL && *at != departure)
    at = &(*at)->next;
  if (*at == NULL)
    return;
  *at = departure->next;
  count--;
}

static struct pollfd *list_all(size_t *ret) {
  pthread_mutex_lock(&mutex);
  struct pollfd *list = mem_array(count + 1, sizeof *list);
  size_t length = 0;
  list[length++] = (struct pollfd){.fd = changed, .events = POLLIN};
  for (const struct departure *at = first; at != NULL; at = at->next)
    list[length++] = (struct pollfd){.fd = at->connection, .events = POLLRDHUP};
  pthread_mutex_unlock(&mutex);
  *ret = length;
  return list;
}

/* Takes the one with that connection off the list; a copy, since the call may
 * end at any moment. */
static bool take(int connection, struct departure *ret) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (struct departure *at = first; at != NULL && !found; at = at->next)
    if (at->connection == connection) {
      *ret = *at;
      unlink_one(at);
      found = true;
    }
  pthread_mutex_unlock(&mutex);
  return found;
}

static void end_run(int connection) {
  struct departure gone;
  struct err err;
  if (!take(connection, &gone))
    return;
  log_set_run(gone.run);
  if (run_cancel(gone.engine, gone.run, gone.by, &err) < 0)
    log_info("the client is gone, its run is not ended: %s", err.text);
  else
    log_info("the client is gone, its run is ended");
  log_set_run(NULL);
}

static void *watch_all(void *unused) {
  (void)unused;
  for (;;) {
    size_t length;
    CLEANUP(mem_free_pointer) struct pollfd *list = list_all(&length);
    if (poll(list, length, -1) < 0)
      continue;
    if (list[0].revents != 0) {
      uint64_t times;
      ssize_t got = read(changed, &times, sizeof times);
      (void)got;
    }
    for (size_t i = 1; i < length; i++)
      if ((list[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        end_run(list[i].fd);
  }
  return NULL;
}

/* Under the mutex. */
static bool start_thread(void) {
  pthread_t thread;
  if (runs)
    return true;
  if (changed < 0)
    changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  runs = changed >= 0 && pthread_create(&thread, NULL, watch_all, NULL) == 0;
  if (runs)
    pthread_detach(thread);
  return runs;
}

void departure_watch(struct departure *departure, const struct call *call,
                     const char *run) {
  int connection = door_connection(call->request->door);
  *departure = (struct departure){.engine = call->engine, .connection = -1};
  snprintf(departure->run, sizeof departure->run, "%s", run);
  snprintf(departure->by, sizeof departure->by, "%s", call->caller.name);
  if (connection < 0)
    return;
  pthread_mutex_lock(&mutex);
  if (start_thread()) {
    departure->connection = connection;
    departure->next = first;
    first = departure;
    count++;
  }
  pthread_mutex_unlock(&mutex);
  tell_thread();
}

void departure_done(struct departure *departure) {
  if (departure->engine == NULL || departure->connection < 0)
    return;
  pthread_mutex_lock(&mutex);
  unlink_one(departure);
  pthread_mutex_unlock(&mutex);
  tell_thread();
}
