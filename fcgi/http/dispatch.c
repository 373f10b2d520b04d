#include "fcgi/http/dispatch.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fcgi/http/accept.h"
#include "fcgi/http/fields.h"
#include "fcgi/http/host.h"
#include "fcgi/http/problem.h"
#include "fcgi/http/router.h"

/* A fault whose status is not that of its kind. */
struct failure {
  struct err err;
  int status; /* 0: that of the kind */
};

static int check_host(const struct call *call, struct failure *failure) {
  const char *host = request_header(call->request, "HTTP_HOST");
  if (host_is_served(host, call->conf->hosts))
    return 0;
  failure->status = 421;
  return err_set(&failure->err, ERR_DENIED,
                 "host \"%.200s\" is not served here; the key \"hosts\" in "
                 "cellpost.conf names those that are",
                 host == NULL ? "" : host);
}

static bool is_reading(const char *method) {
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Programs send no Origin; a browser always does when a page of another origin
 * makes it send something that may change state (Fetch, "origin header"). */
static int check_origin(const struct call *call, struct failure *failure) {
  const char *origin = request_header(call->request, "HTTP_ORIGIN");
  const char *host = request_header(call->request, "HTTP_HOST");
  const char *forwarded =
      request_header(call->request, "HTTP_X_FORWARDED_HOST");
  bool is_proxied =
      forwarded != NULL ||
      request_header(call->request, "HTTP_X_FORWARDED_PROTO") != NULL;
  if (is_reading(call->request->method) || host_is_own_origin(origin, host) ||
      (is_proxied && host_is_own_origin_forwarded(origin, host, forwarded)))
    return 0;
  return err_set(&failure->err, ERR_DENIED,
                 "a page of origin \"%.200s\" may not do this", origin);
}

/* Joins the segments from `at` on. One that holds a slash itself (%2F) is
 * refused: joined, it would be two. */
static int join_path(struct call *call, size_t at, char **path,
                     struct err *err) {
  CLEANUP(buf_free) struct buf joined = BUF_INIT(BUF_SMALL);
  for (size_t i = at; at != 0 && i < call->request->segment_count; i++) {
    if (strchr(call->request->segments[i], '/') != NULL)
      return err_set(err, ERR_INVALID, "the name of a file holds no slash");
    buf_format(&joined, "%s%s", i == at ? "" : "/", call->request->segments[i]);
  }
  if (at != 0)
    call->path = *path = buf_take(&joined);
  return 0;
}

static int find_route(struct call *call, struct route_match *match,
                      struct failure *failure) {
  CLEANUP(buf_free) struct buf allow = BUF_INIT(BUF_LINE);
  const struct request *request = call->request;
  if (router_match(call->service->routes, call->service->route_count,
                   request->method, request->segments, request->segment_count,
                   match, &allow, &failure->err) >= 0) {
    call->task = match->task;
    call->run = match->run;
    return 0;
  }
  if (allow.length != 0) {
    failure->status = 405;
    reply_header(call->reply, "Allow", buf_string(&allow));
  }
  return -1;
}

static bool is_listed(const char *name, const char *list) {
  size_t length = strlen(name);
  while (length != 0 && list != NULL && *list != '\0') {
    size_t next = strcspn(list, " ");
    if (next == length && strncmp(list, name, length) == 0)
      return true;
    list += next;
    list += strspn(list, " ");
  }
  return false;
}

static int check_query(const struct call *call, const struct route *route,
                       struct failure *failure) {
  for (size_t i = 0; i < call->request->parameter_count; i++) {
    const char *name = call->request->parameters[i].name;
    if (is_listed(name, route->parameters))
      continue;
    return err_set(&failure->err, ERR_FIELD,
                   "unknown query parameter \"%.100s\"%s%s", name,
                   route->parameters == NULL ? "" : "; known are: ",
                   route->parameters == NULL ? "" : route->parameters);
  }
  return 0;
}

/* Comes before the body is read, so that a refused body need not be sent. */
static int check_type(struct call *call, const struct route *route,
                      struct failure *failure) {
  const char *type = request_header(call->request, "CONTENT_TYPE");
  if (route->body == ROUTE_BODY_BYTES)
    return 0;
  call->body_is_code =
      route->body == ROUTE_BODY_CODE && accept_is_type(type, "text/x-python");
  if (call->body_is_code || accept_is_type(type, "application/json"))
    return 0;
  if (route->body != ROUTE_BODY_CODE && !request_has_body(call->request))
    return 0;
  return err_set(&failure->err, ERR_MEDIA_TYPE,
                 "the body's Content-Type is \"%.100s\"; taken is "
                 "application/json%s, in UTF-8",
                 type == NULL ? "" : type,
                 route->body == ROUTE_BODY_CODE ? " or text/x-python" : "");
}

static int read_body(struct call *call, const struct route *route,
                     struct json **body, struct failure *failure) {
  struct request *request = call->request;
  if (check_type(call, route, failure) < 0 ||
      request_read_body(request, call->conf->body_bytes, &failure->err) < 0)
    return -1;
  bool absent = request->body.length == 0 && route->body != ROUTE_BODY_CODE;
  if (absent || call->body_is_code || route->body == ROUTE_BODY_BYTES)
    return 0;
  if (fields_parse(buf_string(&request->body), request->body.length, body,
                   &failure->err) < 0)
    return -1;
  call->body = *body;
  return route->body != ROUTE_BODY_NONE
             ? 0
             : fields_read(*body, NULL, 0, NULL, &call->details, &failure->err);
}

static int admit(struct call *call, const struct route *route,
                 struct err *err) {
  if (route->scope == ROUTE_OPEN)
    return 0;
  if (call_identify(call, err) < 0 ||
      (route->scope != ROUTE_KNOWN &&
       call_check_scope(call, route->scope, err) < 0))
    return -1;
  bool makes = route->makes &&
               (call->conf->auto_create || strcmp(route->method, "PUT") == 0);
  if (call->task != NULL && call_check_task(call, call->task, makes, err) < 0)
    return -1;
  return call->run == NULL ? 0 : call_check_run(call, call->run, err);
}

static int serve_route(struct call *call, const struct route_match *match,
                       struct failure *failure) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(mem_free_pointer) char *path = NULL;
  const struct route *route = match->route;
  if (join_path(call, match->path_at, &path, &failure->err) < 0 ||
      check_origin(call, failure) < 0 ||
      admit(call, route, &failure->err) < 0 ||
      check_query(call, route, failure) < 0 ||
      read_body(call, route, &body, failure) < 0)
    return -1;
  log_set_task(call->task);
  call->origin = (struct journal_origin){.caller = call->caller.name,
                                         .token = call->caller.token.id,
                                         .address = call->caller.address,
                                         .request_id = call->request->id};
  journal_set_origin(&call->origin);
  int status = route->handle(call, &failure->err);
  return status <= 0
             ? status
             : reply_json(call->reply, status, call->answer, &failure->err);
}

static void answer_failure(struct call *call, const struct failure *failure) {
  if (problem_is_internal(failure->err.kind))
    log_error("%s", failure->err.text);
  call_give_place(call);
  if (failure->err.kind == ERR_UNAUTHENTICATED) {
    CLEANUP(buf_free) struct buf challenge = BUF_INIT(BUF_LINE);
    caller_challenge(call->request, 0, &failure->err, &challenge);
    reply_header(call->reply, "WWW-Authenticate", buf_string(&challenge));
  }
  reply_problem(call->reply, failure->status, &failure->err, call->details);
}

static void log_request(const struct call *call, const struct route *route,
                        int64_t started) {
  const struct request *request = call->request;
  double ms = (double)(clock_monotonic_ns() - started) / (double)CLOCK_MS;
  const char *target = request->target == NULL ? "" : request->target;
  if (route != NULL && route->quiet)
    log_debug("%s %.500s %d in %.1f ms", request->method, target,
              call->reply->status, ms);
  else
    log_info("%s %.500s %d in %.1f ms, %llu bytes", request->method, target,
             call->reply->status, ms, (unsigned long long)call->reply->bytes);
}

static void count(struct metrics *metrics, int status) {
  size_t class = (size_t)status / 100;
  if (class < COUNT_OF(metrics->answered))
    atomic_fetch_add(&metrics->answered[class], 1);
}

/* A run whose client did not want to wait. Its record tells how it ended. */
static void go_on(struct call *call) {
  struct err err;
  CLEANUP(json_done) struct json *answer = NULL;
  log_set_run(accepted_id(call->unfinished));
  if (run_perform(call->engine, call->unfinished, NULL, &answer, NULL, &err) <
      0)
    log_warning("the run was not carried out: %s", err.text);
  accepted_free(call->unfinished);
}

static void serve(struct call *call, struct door *door) {
  int64_t started = clock_monotonic_ns();
  struct failure failure = {.status = 0};
  struct route_match match = {.route = NULL};
  int opened = request_open(call->request, door, &failure.err);
  caller_open(&call->caller, call->request);
  reply_open(call->reply, call->request);
  log_set_request(call->request->id);
  if (opened < 0 || check_host(call, &failure) < 0 ||
      find_route(call, &match, &failure) < 0 ||
      serve_route(call, &match, &failure) < 0)
    answer_failure(call, &failure);
  log_request(call, match.route, started);
  reply_finish(call->reply);
  count(&call->service->metrics, call->reply->status);
}

/* Bytes in and out from which on it may have left much memory behind. */
#define BIG_REQUEST ((size_t)256 << 10)

void dispatch(struct service *service, struct door *door) {
  struct request request = {.door = door};
  struct reply reply = {.status = 0};
  struct call call = {.service = service,
                      .engine = service->engine,
                      .conf = engine_conf(service->engine),
                      .request = &request,
                      .reply = &reply};
  atomic_fetch_add(&service->metrics.in_progress, 1);
  serve(&call, door);
  if (call.unfinished != NULL)
    go_on(&call);
  call_give_place(&call);
  journal_set_origin(NULL);
  caller_free(&call.caller);
  json_free(call.answer);
  json_free(call.details);
  bool big = request.body.length + reply.bytes > BIG_REQUEST;
  reply_free(&reply);
  request_free(&request);
  mem_give_back(big);
  atomic_fetch_sub(&service->metrics.in_progress, 1);
  log_set_request(NULL);
  log_set_task(NULL);
  log_set_run(NULL);
}
