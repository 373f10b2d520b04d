/* The one door to hiredis: a connection to a Redis server for publishing.
 *
 * Everything here may wait, at most REDIS_PATIENCE for each step: it is for a
 * thread of its own. Without hiredis at build (make REDIS=no) the functions are
 * there and redis_open fails with ERR_UNAVAILABLE. */
#ifndef CELLPOST_FEED_REDIS_H
#define CELLPOST_FEED_REDIS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

#define REDIS_PATIENCE_MS 2000

struct redis;

/* False: this build has no Redis. */
bool redis_is_built(void);

/* "HOST:PORT", "[ADDRESS]:PORT" or the path of a socket. */
bool redis_is_address(const char *address);

/* `password` may be NULL
 * or empty. ERR_UNAVAILABLE: nobody answers; ERR_DENIED: it does not let us. */
int redis_open(const char *address, const char *password, struct redis **ret,
               struct err *err);
void redis_close(struct redis *redis); /* NULL is fine */

/* Queues a PUBLISH. */
void redis_publish(struct redis *redis, const char *channel,
                   const char *message, size_t length);

/* Sends what is queued and reads the answers. On failure the connection is of
 * no more use. */
int redis_flush(struct redis *redis, struct err *err);

#endif
