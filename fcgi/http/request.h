/* One HTTP request as the web server handed it over. */
#ifndef CELLPOST_FCGI_HTTP_REQUEST_H
#define CELLPOST_FCGI_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/json.h"
#include "fcgi/transport/door.h"

#define REQUEST_ID_SIZE 65
#define REQUEST_SEGMENTS 80
#define REQUEST_PARAMETERS 16

struct request_parameter {
  char *name, *value;
};

/* Texts belong to the request or to the door and live until request_free. */
struct request {
  struct door *door;
  char id[REQUEST_ID_SIZE]; /* of the web server (REQUEST_ID), else our own */
  char method[16];
  char *target; /* path and query as the client wrote them, for the log */
  /* The path in decoded segments: "/v1/tasks/a%2Fb" is {"v1", "tasks", "a/b"}.
   * A segment may hold any bytes but NUL. */
  char *segments[REQUEST_SEGMENTS];
  size_t segment_count;
  struct request_parameter parameters[REQUEST_PARAMETERS];
  size_t parameter_count;
  struct buf body; /* after request_read_body */
};

/* Reads method, path and query. Sets `door` and `id` also on failure, so that
 * the failure can be answered. ERR_INVALID: bad percent encoding, %00, a path
 * or query with too many parts. */
int request_open(struct request *request, struct door *door, struct err *err);
void request_free(struct request *request);

/* A header by its CGI name ("HTTP_ACCEPT", "CONTENT_TYPE"); NULL when absent or
 * empty. */
const char *request_header(const struct request *request, const char *name);

/* Whether it was sent, if only as an empty one. */
bool request_has_header(const struct request *request, const char *name);

/* The value of a query parameter, or NULL. */
const char *request_parameter(const struct request *request, const char *name);

/* Decimal digits, at most 18, and nothing else. */
int request_read_number(const char *text, int64_t *ret);

/* A query parameter that must be a whole number in a range; `otherwise` when
 * absent. ERR_FIELD names it. */
int request_integer(const struct request *request, const char *name,
                    int64_t least, int64_t most, int64_t otherwise,
                    int64_t *ret, struct err *err);

/* True when the request announces a body. */
bool request_has_body(const struct request *request);

/* Reads the whole body. ERR_TOO_LARGE: over `limit`, told before anything is
 * read. ERR_INVALID: no length, or cut short. */
int request_read_body(struct request *request, int64_t limit, struct err *err);

#endif
