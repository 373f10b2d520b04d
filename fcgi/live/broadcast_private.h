/* The inside of the broadcast, for its two files alone. */
#ifndef CELLPOST_FCGI_LIVE_BROADCAST_PRIVATE_H
#define CELLPOST_FCGI_LIVE_BROADCAST_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <uthash.h>
#include <utlist.h>

#include "core/base/buf.h"
#include "core/base/id.h"
#include "fcgi/live/broadcast.h"

/* Those who watch one task, or all (task ""), and have seen all that the
 * broadcast has. */
struct group {
  char task[ID_TASK_SIZE];
  struct watcher *watchers;
  struct buf text; /* of the events being handed out */
  int64_t last;
  UT_hash_handle hh;
};

struct broadcast {
  struct store *store;
  long most;
  struct metrics *metrics;
  atomic_long places; /* taken */
  int wake;           /* eventfd */
  int epoll;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards the next two */
  struct watcher *newcomers;
  bool stopping;

  /* the thread's own */
  int64_t position; /* the last event that was handed out */
  struct group *groups;
  struct watcher *apart; /* in no group: they are behind, or know something */
  struct frames *keepalive;
  int64_t round_at, sweep_at;
};

bool broadcast_is_idle(const struct broadcast *broadcast); /* nobody watches */

/* Queues and sends. False: the watcher is gone. */
bool broadcast_give(struct broadcast *broadcast, struct watcher *watcher,
                    struct frames *frames, int64_t now);

/* The watcher goes. */
void broadcast_leave(struct broadcast *broadcast, struct watcher *watcher);

/* Gives to all what has come into the log, and sets the time of the next round.
 */
void broadcast_round(struct broadcast *broadcast);

/* Groups without a watcher go. */
void broadcast_tidy(struct broadcast *broadcast);

#endif
