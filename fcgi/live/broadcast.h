/* The live feed: one thread that gives the events of the log to all watchers.
 *
 * It reads the log, where every process of ours writes, 50 times a second while
 * somebody watches and something is written, and sleeps otherwise. Every event
 * is read and formatted once, whatever the number of watchers (audience.h). A
 * watcher that does not read is dropped with a "gap" (watcher.h) and may come
 * again: the log still has what it missed. */
#ifndef CELLPOST_FCGI_LIVE_BROADCAST_H
#define CELLPOST_FCGI_LIVE_BROADCAST_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/store/store.h"
#include "fcgi/http/metrics.h"
#include "fcgi/live/watcher.h"

struct broadcast;

/* conf->watchers at once. What is handed in is borrowed until broadcast_stop.
 */
int broadcast_start(struct store *store, const struct conf *conf,
                    struct metrics *metrics, struct broadcast **ret,
                    struct err *err);

/* Ends every watcher's response and the thread. Whoever comes later is turned
 * away; so the object stays, as long as requests may come. */
void broadcast_stop(struct broadcast *broadcast);

/* From any thread: takes a place for a watcher. False: there is none. */
bool broadcast_reserve(struct broadcast *broadcast);
void broadcast_release(struct broadcast *broadcast);

/* From any thread: hands over a watcher, with its place, and what it is sent
 * before events. */
void broadcast_add(struct broadcast *broadcast, struct watcher *watcher,
                   struct frames *first);

#endif
