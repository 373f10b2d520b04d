/* Which handler answers which method and path. Pure. */
#ifndef CELLPOST_FCGI_HTTP_ROUTER_H
#define CELLPOST_FCGI_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fcgi/http/call.h"

/* What a route takes as its body. */
enum route_body {
  ROUTE_BODY_NONE,   /* nothing; an empty JSON object is let pass */
  ROUTE_BODY_OBJECT, /* application/json, may be absent */
  ROUTE_BODY_CODE,   /* application/json or text/x-python, required */
  ROUTE_BODY_BYTES,  /* anything, of any type, may be empty */
};

/* A route for everybody, who need not say who they are; and one for everybody
 * who does. */
#define ROUTE_OPEN 0u
#define ROUTE_KNOWN (1u << 16)

struct route {
  const char *method;
  const char *pattern; /* "/v1/tasks/{task}/runs" */
  unsigned scope; /* that a caller must have: SCOPE_…, or one of ROUTE_… */
  handler *handle;
  enum route_body body;
  const char *parameters; /* of the query, spaces between; NULL: none */
  bool quiet;             /* asked for all the time: no log line */
  bool makes;             /* the task, when it is missing */
};

/* What a path matched. The texts are borrowed from the segments. */
struct route_match {
  const struct route *route;
  const char *task; /* what stood for {task}, checked; or NULL */
  const char *run;
  /* {path} ends a pattern and stands for one or more segments: this is the
   * first of them; 0: there is no {path}. */
  size_t path_at;
};

/* Finds the route. HEAD matches GET. ERR_NOT_FOUND: no such path;
 * ERR_INVALID: what stands for {task} or {run} is no such id, also when it
 * holds slashes; ERR_DENIED: the path is there, but not for this method, and
 * `allow` (an Allow header, RFC 9110, 10.2.1) receives the methods that are.
 * Pure. */
int router_match(const struct route *table, size_t count, const char *method,
                 char *const *segments, size_t segment_count,
                 struct route_match *ret, struct buf *allow, struct err *err);

#endif
