#include "fcgi/mcp/mcp.h"

#include <string.h>

#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/run.h"
#include "fcgi/mcp/running.h"

void mcp_reply(struct mcp *mcp, int status, const struct json *message) {
  struct err err;
  if (reply_json(mcp->call->reply, status, message, &err) < 0)
    reply_problem(mcp->call->reply, 0, &err, NULL);
}

static struct json *capabilities(void) {
  struct json *all = json_object();
  json_set(all, "tools", json_object());
  json_set(all, "resources", json_object());
  return all;
}

/* How long a client may keep an answer (modern clients must be told). */
static void keep_for(struct mcp *mcp, struct json *result, int64_t ms,
                     const char *scope) {
  if (!mcp->message.modern || result == NULL)
    return;
  json_set_integer(result, "ttlMs", ms);
  json_set_text(result, "cacheScope", scope);
}

static int discover(struct mcp *mcp, struct json **ret,
                    struct rpc_fault *fault) {
  (void)mcp;
  (void)fault;
  struct json *versions = json_array();
  json_push(versions, json_string(RPC_MODERN));
  *ret = json_object();
  json_set(*ret, "supportedVersions", versions);
  json_set(*ret, "capabilities", capabilities());
  json_set_text(*ret, "instructions", MCP_INSTRUCTIONS);
  return 0;
}

/* Nothing is kept of it: the id only tells clients apart whose requests have
 * the same numbers. */
static int initialize(struct mcp *mcp, struct json **ret,
                      struct rpc_fault *fault) {
  char session[ID_UUID_SIZE];
  (void)fault;
  id_new(session);
  reply_header(mcp->call->reply, "Mcp-Session-Id", session);
  const char *wanted = json_get_text(mcp->message.params, "protocolVersion");
  *ret = json_object();
  json_set_text(*ret, "protocolVersion", rpc_negotiate(wanted));
  json_set(*ret, "capabilities", capabilities());
  json_set(*ret, "serverInfo", rpc_server_info());
  json_set_text(*ret, "instructions", MCP_INSTRUCTIONS);
  return 0;
}

static int ping(struct mcp *mcp, struct json **ret, struct rpc_fault *fault) {
  (void)mcp;
  (void)fault;
  *ret = json_object();
  return 0;
}

enum era { BOTH, MODERN, LEGACY };

static const struct {
  const char *name;
  mcp_method *answer;
  enum era era;
  int64_t keep_ms; /* -1: nothing is said of it */
  const char *scope;
} methods[] = {
    {"server/discover", discover, MODERN, 3600000, "public"},
    {"initialize", initialize, LEGACY, -1, NULL},
    {"ping", ping, LEGACY, -1, NULL},
    {"tools/list", mcp_list_tools, BOTH, 3600000, "public"},
    {"tools/call", mcp_call_tool, BOTH, -1, NULL},
    {"resources/list", mcp_list_resources, BOTH, 0, "private"},
    {"resources/templates/list", mcp_list_templates, BOTH, 3600000, "public"},
    {"resources/read", mcp_read_resource, BOTH, 0, "private"},
};

static int serve_method(struct mcp *mcp, struct json **ret,
                        struct rpc_fault *fault) {
  enum era other = mcp->message.modern ? LEGACY : MODERN;
  for (size_t i = 0; i < COUNT_OF(methods); i++) {
    if (methods[i].era == other ||
        strcmp(methods[i].name, mcp->message.method) != 0)
      continue;
    if (methods[i].answer(mcp, ret, fault) < 0)
      return -1;
    if (methods[i].keep_ms >= 0)
      keep_for(mcp, *ret, methods[i].keep_ms, methods[i].scope);
    return 0;
  }
  return rpc_fail(fault, mcp->message.modern, RPC_METHOD_NOT_FOUND,
                  "there is no method \"%.100s\"", mcp->message.method);
}

/* A legacy client wants a request's end; of one that is unknown, or has ended,
 * nothing is said. */
static void serve_notification(struct mcp *mcp) {
  char run[ID_UUID_SIZE];
  struct err err;
  if (strcmp(mcp->message.method, "notifications/cancelled") == 0 &&
      running_find(mcp->session, json_get(mcp->message.params, "requestId"),
                   run) &&
      call_check_run(mcp->call, run, &err) >= 0 &&
      run_cancel(mcp->call->engine, run, mcp->call->caller.name, &err) < 0)
    log_debug("a run that a client gave up: %s", err.text);
  reply_text(mcp->call->reply, 202, "application/json", "", 0);
}

static void refuse(struct mcp *mcp, const struct rpc_fault *fault) {
  CLEANUP(json_done) struct json *answer = rpc_error(&mcp->message, fault);
  mcp_reply(mcp, fault->status, answer);
}

static void serve(struct mcp *mcp) {
  CLEANUP(rpc_fault_done) struct rpc_fault fault = {.data = NULL};
  struct json *result = NULL;
  if (mcp->message.id == NULL)
    serve_notification(mcp);
  else if (serve_method(mcp, &result, &fault) < 0)
    refuse(mcp, &fault);
  else if (result != NULL) {
    CLEANUP(json_done) struct json *answer = rpc_result(&mcp->message, result);
    mcp_reply(mcp, 200, answer);
  }
}

int mcp_serve(struct call *call, struct err *err) {
  (void)err;
  const struct request *request = call->request;
  CLEANUP(rpc_fault_done) struct rpc_fault fault = {.data = NULL};
  CLEANUP(json_done) struct json *body = NULL;
  /* The request's own text is gone once an answer was sent. */
  CLEANUP(mem_free_pointer)
  char *session = mem_copy_text(request_header(request, "HTTP_MCP_SESSION_ID"));
  struct mcp mcp = {.call = call, .session = session};
  const struct rpc_headers headers = {
      .version = request_header(request, "HTTP_MCP_PROTOCOL_VERSION"),
      .method = request_header(request, "HTTP_MCP_METHOD"),
      .name = request_header(request, "HTTP_MCP_NAME"),
      .param_task = request_header(request, "HTTP_MCP_PARAM_TASK")};
  struct err parse;
  if (json_parse(buf_string(&request->body), request->body.length,
                 &JSON_RULES_REQUEST, &body, &parse) < 0) {
    rpc_fail(&fault, false, RPC_PARSE_ERROR, "%s", parse.text);
    refuse(&mcp, &fault);
  } else if (rpc_read(body, &headers, &mcp.message, &fault) < 0) {
    refuse(&mcp, &fault);
  } else {
    serve(&mcp);
  }
  return 0;
}
