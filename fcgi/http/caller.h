/* Who asks. Every caller is "anonymous", told apart by address; what a handler
 * sees of a caller is this struct and nothing else. */
#ifndef CELLPOST_FCGI_HTTP_CALLER_H
#define CELLPOST_FCGI_HTTP_CALLER_H

#include "core/base/err.h"
#include "fcgi/http/request.h"

struct caller {
  const char *name;    /* stands in the history; never NULL */
  const char *address; /* of the client as the web server saw it, or NULL */
};

/* Identifies the caller from what the web server vouches for; headers that a
 * client can set itself (X-Forwarded-For …) do not count. Texts live as long
 * as the request. */
int caller_identify(const struct request *request, struct caller *ret,
                    struct err *err);

#endif
