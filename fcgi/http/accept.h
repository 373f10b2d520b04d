/* Which form of answer a client asked for. Pure. */
#ifndef CELLPOST_FCGI_HTTP_ACCEPT_H
#define CELLPOST_FCGI_HTTP_ACCEPT_H

#include <stdbool.h>

enum accept_format {
  ACCEPT_JSON,   /* application/json: one answer at the end */
  ACCEPT_SSE,    /* text/event-stream: outputs as they come */
  ACCEPT_NDJSON, /* application/x-ndjson: the same, a JSON object a line */
};

/* From an Accept header (RFC 9110, 12.5.1); NULL: none. A stream is chosen only
 * when it is named and its weight is not below that of application/json; of two
 * streams the heavier one, else the first. Everything else is JSON. */
enum accept_format accept_negotiate(const char *header);

/* True when the header prefers a page (text/html) to JSON. */
bool accept_is_page(const char *header);

/* True when a Content-Type header names `type`, whatever its parameters; but a
 * charset, if given, must be UTF-8 (or its subset US-ASCII). */
bool accept_is_type(const char *content_type, const char *type);

#endif
