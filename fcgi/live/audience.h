/* Who watches the live feed, and what each of them is given. Belongs to one
 * thread, but for `places`.
 *
 * Those who watch the same and have seen all that there is form a group: events
 * are formatted once for it. The others are apart and are brought up from the
 * log, a piece at a time. */
#ifndef CELLPOST_FCGI_LIVE_AUDIENCE_H
#define CELLPOST_FCGI_LIVE_AUDIENCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"
#include "fcgi/http/metrics.h"
#include "fcgi/live/watcher.h"

struct audience_group;

struct audience {
  struct store *store;
  struct metrics *metrics;
  atomic_long places; /* taken, by watchers and by those about to come */
  int64_t position;   /* the last event that was handed out */
  struct audience_group *groups;
  struct watcher *apart; /* in no group: they are behind, or know something */
};

/* Takes over a watcher, which is apart at first, with its place. */
void audience_add(struct audience *audience, struct watcher *watcher);

/* The watcher goes, and its place is free. */
void audience_leave(struct audience *audience, struct watcher *watcher);

/* Whether somebody is to be brought up from the log. */
bool audience_is_behind(const struct audience *audience);

bool audience_is_idle(const struct audience *audience); /* nobody watches */

/* Queues and sends. False: the watcher is gone. */
bool audience_give(struct audience *audience, struct watcher *watcher,
                   struct frames *frames, int64_t now);

/* Gives to all what has come into the log. */
int audience_give_news(struct audience *audience, struct err *err);

/* Passes over what has come into the log. */
int audience_skip_news(struct audience *audience, struct err *err);

/* Calls `each` for every watcher, which may leave then. */
void audience_visit(struct audience *audience,
                    void (*each)(void *context, struct watcher *watcher),
                    void *context);

/* Groups without a watcher go. */
void audience_tidy(struct audience *audience);

#endif
