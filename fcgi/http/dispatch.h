/* From a request that was accepted to its answer: host, route, origin, caller,
 * body, handler, problem document, log line. */
#ifndef CELLPOST_FCGI_HTTP_DISPATCH_H
#define CELLPOST_FCGI_HTTP_DISPATCH_H

#include "fcgi/http/call.h"
#include "fcgi/transport/door.h"

/* Serves the one request that `door` holds, to its end, or until a broadcast
 * has it. Never fails: what goes wrong is answered. */
void dispatch(struct service *service, struct door *door);

#endif
