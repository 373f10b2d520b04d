/* The request threads, from the first accept to the last answer. */
#ifndef CELLPOST_FCGI_TRANSPORT_SERVER_H
#define CELLPOST_FCGI_TRANSPORT_SERVER_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/run/engine.h"
#include "fcgi/transport/listener.h"

/* Blocks the signals that threads must not see; SIGTERM and SIGINT are then
 * waited for by server_run. Before any thread. */
void server_block_signals(void);

/* Serves until SIGTERM or SIGINT; then accepts nothing new, and waits until
 * every request is answered, at most SERVER_DRAIN seconds or until a second
 * signal. Returns 0 when everything ended, 1 when requests were still going on:
 * then the engine is in use and must be left as it is. */
#define SERVER_DRAIN 20
int server_run(struct engine *engine, struct listener *listener,
               struct err *err);

#endif
