#include "fcgi/e2b/e2b.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/store/sandbox.h"
#include "fcgi/http/problem.h"

const struct route e2b_routes[] = {
    {"POST", "/v2/sandboxes", SCOPE_RUN, e2b_create, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"POST", "/sandboxes", SCOPE_RUN, e2b_create, ROUTE_BODY_BYTES, NULL, false,
     false},
    {"GET", "/v2/sandboxes", SCOPE_READ, e2b_list, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"GET", "/sandboxes", SCOPE_READ, e2b_list, ROUTE_BODY_BYTES, NULL, false,
     false},
    {"GET", "/sandboxes/{task}", SCOPE_READ, e2b_describe, ROUTE_BODY_BYTES,
     NULL, false, false},
    {"DELETE", "/sandboxes/{task}", SCOPE_RUN, e2b_kill, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"POST", "/sandboxes/{task}/timeout", SCOPE_RUN, e2b_set_timeout,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/v2/sandboxes/{task}/connect", SCOPE_RUN, e2b_connect,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/sandboxes/{task}/connect", SCOPE_RUN, e2b_connect,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/sandboxes/{task}/resume", SCOPE_RUN, e2b_connect,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/execute", SCOPE_RUN, e2b_execute, ROUTE_BODY_BYTES, NULL, false,
     false},
    {"GET", "/contexts", SCOPE_READ, e2b_contexts_list, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"POST", "/contexts", SCOPE_RUN, e2b_contexts_create, ROUTE_BODY_BYTES,
     NULL, false, false},
    {"POST", "/contexts/{path}", SCOPE_RUN, e2b_contexts_restart,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"DELETE", "/contexts/{path}", SCOPE_RUN, e2b_contexts_delete,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"GET", "/health", SCOPE_READ, e2b_health, ROUTE_BODY_BYTES, NULL, false,
     false},
    {"GET", "/files", SCOPE_READ, e2b_files_read, ROUTE_BODY_BYTES, NULL, false,
     false},
    {"POST", "/files", SCOPE_RUN, e2b_files_write, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"POST", "/filesystem.Filesystem/Stat", SCOPE_READ, e2b_stat,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/filesystem.Filesystem/ListDir", SCOPE_READ, e2b_list_directory,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/filesystem.Filesystem/MakeDir", SCOPE_RUN, e2b_make_directory,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/filesystem.Filesystem/Move", SCOPE_RUN, e2b_move,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/filesystem.Filesystem/Remove", SCOPE_RUN, e2b_remove,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/process.Process/Start", SCOPE_RUN, e2b_start_process,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"POST", "/process.Process/List", SCOPE_READ, e2b_list_processes,
     ROUTE_BODY_BYTES, NULL, false, false},
    {"GET", "/{path}", ROUTE_KNOWN, e2b_unsupported, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"POST", "/{path}", ROUTE_KNOWN, e2b_unsupported, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"PUT", "/{path}", ROUTE_KNOWN, e2b_unsupported, ROUTE_BODY_BYTES, NULL,
     false, false},
    {"DELETE", "/{path}", ROUTE_KNOWN, e2b_unsupported, ROUTE_BODY_BYTES, NULL,
     false, false},
};
const size_t e2b_routes_count = COUNT_OF(e2b_routes);

int e2b_body(struct call *call, struct json **ret, struct err *err) {
  const struct buf *body = &call->request->body;
  if (body->length == 0) {
    *ret = json_object();
    return 0;
  }
  CLEANUP(json_done) struct json *object = NULL;
  if (json_parse(buf_string(body), body->length, &JSON_RULES_REQUEST, &object,
                 err) < 0)
    return -1;
  if (json_kind(object) != JSON_OBJECT)
    return err_set(err, ERR_INVALID, "the body is no JSON object");
  *ret = MEM_STEAL(object);
  return 0;
}

int e2b_sandbox(struct call *call, struct err *err) {
  CLEANUP(sandbox_record_free) struct sandbox_record record = {0};
  const char *id = request_header(call->request, "HTTP_E2B_SANDBOX_ID");
  if (id == NULL || !id_is_task(id))
    return err_set(err, ERR_INVALID,
                   "the header E2b-Sandbox-Id names no sandbox");
  if (call_check_task(call, id, false, err) < 0 ||
      sandbox_get(engine_store(call->engine), id, &record, err) < 0)
    return -1;
  call->task = id;
  return 0;
}

int e2b_unsupported(struct call *call, struct err *err) {
  (void)err;
  call->answer = json_object();
  json_set_integer(call->answer, "code", 501);
  json_set_text(call->answer, "message",
                "Cellpost does not offer this part of E2B's interface; its "
                "README says which parts it does");
  return 501;
}

/* The SDKs read "message", and envd's calls a word as "code". */
static void explain(struct call *call, const struct err *err) {
  static const char *const words[] = {
      [ERR_INVALID] = "invalid_argument",   [ERR_FIELD] = "invalid_argument",
      [ERR_DENIED] = "permission_denied",   [ERR_NOT_FOUND] = "not_found",
      [ERR_CONFLICT] = "already_exists",    [ERR_BUSY] = "resource_exhausted",
      [ERR_NO_SPACE] = "resource_exhausted"};
  const char *word =
      (size_t)err->kind < COUNT_OF(words) ? words[err->kind] : NULL;
  bool is_call = strchr(call->request->segments[1], '.') != NULL;
  json_free(call->details);
  call->details = json_object();
  if (is_call)
    json_set_text(call->details, "code", word == NULL ? "unavailable" : word);
  else
    json_set_integer(call->details, "code", problem_status(err->kind));
  json_set_text(call->details, "message", err->text);
}

/* A request to a sandbox that has ended: by 502 the SDKs know. */
static int tell_ended(struct call *call, const struct err *err) {
  call->answer = json_object();
  json_set_integer(call->answer, "code", 502);
  json_set_text(call->answer, "message", err->text);
  return 502;
}

static int serve(struct call *call, const struct route *route,
                 struct err *err) {
  if ((route->scope != ROUTE_KNOWN &&
       call_check_scope(call, route->scope, err) < 0) ||
      (call->task != NULL && call_check_task(call, call->task, false, err) < 0))
    return -1;
  return route->handle(call, err);
}

int e2b_serve(struct call *call, struct err *err) {
  CLEANUP(buf_free) struct buf allow = BUF_INIT(BUF_LINE);
  const struct request *request = call->request;
  struct route_match match;
  if (router_match(e2b_routes, e2b_routes_count, request->method,
                   request->segments + 1, request->segment_count - 1, &match,
                   &allow, err) >= 0) {
    call->task = match.task;
    int status = serve(call, match.route, err);
    if (status >= 0)
      return status;
    if (err->kind == ERR_NOT_FOUND && call->task == NULL)
      return tell_ended(call, err);
  }
  explain(call, err);
  return -1;
}
