/* What a handler is given, and what it must do. */
#ifndef CELLPOST_FCGI_HTTP_CALL_H
#define CELLPOST_FCGI_HTTP_CALL_H

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"
#include "core/run/run.h"
#include "core/store/journal.h"
#include "fcgi/http/allowance.h"
#include "fcgi/http/caller.h"
#include "fcgi/http/fields.h"
#include "fcgi/http/metrics.h"
#include "fcgi/http/reply.h"
#include "fcgi/http/request.h"

struct route;
struct broadcast;

/* What serves all requests of a process. */
struct service {
  struct engine *engine;
  const struct route *routes;
  size_t route_count;
  struct broadcast *broadcast; /* NULL: the process serves one request */
  struct metrics metrics;
  struct allowances allowances;
};

struct call {
  struct service *service;
  struct engine *engine;
  const struct conf *conf;
  struct request *request;
  struct reply *reply;
  struct caller caller;
  struct journal_origin origin; /* the same, for the journal */
  const char *task;             /* from the path, a valid id; or NULL */
  const char *run;
  const char *path; /* the rest of the path, with slashes; or NULL */
  /* The parsed JSON body, an object; NULL when there was none, or when the body
   * is code. */
  const struct json *body;
  bool body_is_code;
  bool has_place; /* call_take_place */
  bool signs;     /* the answer's images get signed links */
  char *allowed;  /* call_take_run: the task; the call's */
  /* Set by a handler, the call's: */
  struct json *answer;
  struct accepted *unfinished; /* a run that goes on after the answer */
  /* More members of the problem document, set before a failure; the call's. */
  struct json *details;
};

/* Returns the status that call->answer goes out with; or 0 when it has answered
 * by itself (reply.h, a stream); or -1 with *err set and nothing written: then
 * the problem document goes out. */
typedef int handler(struct call *call, struct err *err);

/* Reads the body, which may be absent, as fields_read does. */
int call_read_fields(struct call *call, const struct field *fields,
                     size_t count, void *target, struct err *err);

/* Who asks (caller.h). */
int call_identify(struct call *call, struct err *err);

/* A token was shown that is not taken, as *err says. When many came from there,
 * *err becomes an ERR_BUSY. Returns -1. */
int call_refuse_token(struct call *call, struct err *err);

/* Whether the caller may do what `scope` is for. If not: ERR_DENIED, which
 * names it, as do the response's headers. */
int call_check_scope(struct call *call, unsigned scope, struct err *err);

/* Whether the caller may know of the task. If not, it is told as a missing one
 * is: ERR_NOT_FOUND; but where a missing one would be made (`makes`), the name
 * is refused: ERR_DENIED. */
int call_check_task(struct call *call, const char *task, bool makes,
                    struct err *err);

/* The same of a run by its id, which has a task. */
int call_check_run(struct call *call, const char *run, struct err *err);

/* Notes in the journal what the caller did with a file of the task. */
void call_note_file(const struct call *call, const char *kind, const char *task,
                    const char *path, int64_t bytes);

/* Takes one of the places for those who wait (run_places.h): a handler does so
 * before it waits for a kernel or for a task's turn. ERR_UNAVAILABLE: all are
 * taken.
 *
 * The place is given back at the call's end, or earlier by the handler: once
 * nothing goes on, before it answers. A client that sends one request after
 * another would otherwise find its own place still taken. */
int call_take_place(struct call *call, struct err *err);
void call_give_place(struct call *call);

/* The same for a run in `task`, which the caller's quota must allow, too. What
 * it holds of that is given back with the place. ERR_BUSY, ERR_UNAVAILABLE. */
int call_take_run(struct call *call, const char *task, struct err *err);

#endif
