/* Publishes the events of the log to Redis, for other programs: a thread of its
 * own, so that a Redis that is slow, hung or away delays nothing.
 *
 * Of all processes on one run directory one publishes, which holds the lock
 * `publisher.lock` there; in that file stands how far it is, so that its
 * successor goes on where it ended. While Redis is away events wait in the log;
 * when it comes back the last PUBLISHER_BEHIND of them are published. */
#ifndef CELLPOST_FEED_PUBLISHER_H
#define CELLPOST_FEED_PUBLISHER_H

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/store/store.h"

#define PUBLISHER_BEHIND 10000

struct publisher;

/* Nothing (*ret NULL) when conf->redis_address is "off". Both are borrowed.
 * ERR_INVALID: the configuration of it; ERR_UNAVAILABLE: a build without Redis.
 * That Redis is not there is no failure: it is tried again, and logged. */
int publisher_start(const struct conf *conf, struct store *store,
                    struct publisher **ret, struct err *err);

/* Ends it after its present step. NULL is fine. */
void publisher_stop(struct publisher *publisher);

#endif
