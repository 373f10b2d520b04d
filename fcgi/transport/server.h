/* The request threads, from the first accept to the last answer. What a request
 * is about is the caller's matter.
 *
 *   server_block_signals    before any thread
 *   server_start            requests are served
 *   server_wait             until a signal; nothing new is accepted from then
 * on server_drain            until the last request is answered */
#ifndef CELLPOST_FCGI_TRANSPORT_SERVER_H
#define CELLPOST_FCGI_TRANSPORT_SERVER_H

#include "core/base/err.h"
#include "fcgi/transport/door.h"
#include "fcgi/transport/listener.h"

/* Serves the one request that `door` holds, to its end. */
typedef void server_work(void *context, struct door *door);

/* Blocks the signals that threads must not see. */
void server_block_signals(void);

/* Starts up to `wanted` threads, each of which accepts and serves one request
 * after another. Returns how many there are. There is one server a process;
 * `listener` and `context` are borrowed for as long as it lives. */
long server_start(struct listener *listener, long wanted, server_work *work,
                  void *context, struct err *err);

/* Returns at SIGTERM or SIGINT, with the listener stopped. */
void server_wait(void);

/* Waits until every request is answered, at most SERVER_DRAIN seconds or until
 * a second signal. 0: nothing uses `context` any more; 1: requests still go on,
 * and what they use must be left as it is. */
#define SERVER_DRAIN 20
int server_drain(void);

#endif
