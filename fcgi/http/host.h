/* Whose web page may speak to us. Pure.
 *
 * A page on another origin can make a browser send requests to a service on
 * the person's own machine. Two checks keep it out: the Host must be one of the
 * configured names (a name that was rebound to 127.0.0.1 is not), and a request
 * that changes something must come from a page of this very origin, or from no
 * page at all (programs send no Origin). */
#ifndef CELLPOST_FCGI_HTTP_HOST_H
#define CELLPOST_FCGI_HTTP_HOST_H

#include <stdbool.h>

/* `host` is the Host header ("name", "name:8080", "[::1]:8080"); `hosts` the
 * served names with spaces between. The port does not count; letters compare
 * without case; one final dot is allowed. NULL and "" are refused. */
bool host_is_served(const char *host, const char *hosts);

/* `origin` is the Origin header (RFC 6454), NULL or "" when there is none. True
 * when there is none, or when its host and port are those of `host`. */
bool host_is_own_origin(const char *origin, const char *host);

/* The same behind another web server, which may hand on a Host without the port
 * that the page has. `forwarded` is its X-Forwarded-Host, or NULL. Only for a
 * request that has an X-Forwarded-Proto or X-Forwarded-Host: a page of another
 * origin cannot make a browser send these unasked (Fetch, "CORS-safelisted
 * request-header"). */
bool host_is_own_origin_forwarded(const char *origin, const char *host,
                                  const char *forwarded);

#endif
