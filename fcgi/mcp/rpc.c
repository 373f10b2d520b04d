#include "fcgi/mcp/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/base/version.h"

#define META "io.modelcontextprotocol/"

static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                     "2024-11-05"};

static bool is_legacy(const char *version) {
  for (size_t i = 0; i < COUNT_OF(legacy); i++)
    if (strcmp(version, legacy[i]) == 0)
      return true;
  return false;
}

void rpc_fault_done(struct rpc_fault *fault) { json_free(fault->data); }

/* Legacy servers answer a request that was understood with 200, whatever
 * became of it. */
static int status_of(bool modern, enum rpc_code code) {
  if (code == RPC_PARSE_ERROR || code == RPC_INVALID_REQUEST ||
      code == RPC_UNSUPPORTED_VERSION)
    return 400;
  if (!modern || code == RPC_INTERNAL)
    return 200;
  return code == RPC_METHOD_NOT_FOUND ? 404 : 400;
}

int rpc_fail(struct rpc_fault *fault, bool modern, enum rpc_code code,
             const char *format, ...) {
  va_list arguments;
  *fault = (struct rpc_fault){.code = code, .status = status_of(modern, code)};
  va_start(arguments, format);
  vsnprintf(fault->text, sizeof fault->text, format, arguments);
  va_end(arguments);
  return -1;
}

bool rpc_header_is(const char *header, const char *text) {
  static const char head[] = "=?base64?";
  size_t length = strlen(header), opening = sizeof head - 1;
  if (strncmp(header, head, opening) != 0 || length < opening + 2 ||
      strcmp(header + length - 2, "?=") != 0)
    return strcmp(header, text) == 0;
  CLEANUP(buf_free) struct buf decoded = BUF_INIT(BUF_LINE);
  if (crypto_base64_decode(header + opening, length - opening - 2, &decoded) !=
      0)
    return false;
  return decoded.length == strlen(text) &&
         memcmp(buf_string(&decoded), text, decoded.length) == 0;
}

/* Which parameter the header Mcp-Name repeats. */
static const char *named_by(const char *method) {
  if (strcmp(method, "resources/read") == 0)
    return "uri";
  bool has_name =
      strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0;
  return has_name ? "name" : NULL;
}

/* A header that repeats a value of the body; value NULL: it has none. */
static int check_repeated(const char *what, const char *header,
                          const char *value, struct rpc_fault *fault) {
  if (value == NULL && header == NULL)
    return 0;
  if (value == NULL)
    return rpc_fail(fault, true, RPC_HEADER_MISMATCH,
                    "the header %s is sent, but the body has no such value",
                    what);
  if (header == NULL)
    return rpc_fail(fault, true, RPC_HEADER_MISMATCH,
                    "the header %s is missing; it repeats \"%.100s\"", what,
                    value);
  if (!rpc_header_is(header, value))
    return rpc_fail(fault, true, RPC_HEADER_MISMATCH,
                    "the header %s is \"%.100s\", but the body says \"%.100s\"",
                    what, header, value);
  return 0;
}

static int check_headers(const struct rpc_headers *headers, const char *version,
                         const struct rpc_message *message,
                         struct rpc_fault *fault) {
  const char *name = named_by(message->method);
  if (check_repeated("MCP-Protocol-Version", headers->version, version, fault) <
          0 ||
      (message->id != NULL && check_repeated("Mcp-Method", headers->method,
                                             message->method, fault) < 0))
    return -1;
  if (name == NULL)
    return 0;
  if (check_repeated("Mcp-Name", headers->name,
                     json_get_text(message->params, name), fault) < 0)
    return -1;
  if (strcmp(message->method, "tools/call") != 0)
    return 0;
  const struct json *arguments = json_get(message->params, "arguments");
  return check_repeated("Mcp-Param-Task", headers->param_task,
                        json_get_text(arguments, "task"), fault);
}

static int check_modern(const struct rpc_headers *headers,
                        const struct rpc_message *message,
                        struct rpc_fault *fault) {
  const struct json *meta = json_get(message->params, "_meta");
  const char *version = json_get_text(meta, META "protocolVersion");
  if (version == NULL)
    return rpc_fail(fault, true, RPC_INVALID_PARAMS,
                    "params._meta needs \"" META "protocolVersion\"");
  if (json_kind(json_get(meta, META "clientCapabilities")) != JSON_OBJECT)
    return rpc_fail(fault, true, RPC_INVALID_PARAMS,
                    "params._meta needs \"" META
                    "clientCapabilities\", an object");
  if (check_headers(headers, version, message, fault) < 0)
    return -1;
  if (strcmp(version, RPC_MODERN) == 0)
    return 0;
  rpc_fail(fault, true, RPC_UNSUPPORTED_VERSION,
           "the revision \"%.40s\" of the protocol is not served", version);
  struct json *supported = json_array();
  json_push(supported, json_string(RPC_MODERN));
  fault->data = json_object();
  json_set(fault->data, "supported", supported);
  json_set_text(fault->data, "requested", version);
  return -1;
}

static int check_legacy(const struct rpc_headers *headers,
                        const struct rpc_message *message,
                        struct rpc_fault *fault) {
  bool introduces = strcmp(message->method, "initialize") == 0;
  if (introduces || headers->version == NULL || is_legacy(headers->version))
    return 0;
  return rpc_fail(fault, false, RPC_INVALID_REQUEST,
                  "MCP-Protocol-Version is \"%.40s\"; served are " RPC_MODERN
                  " (with params._meta), 2025-11-25 and 2025-06-18",
                  headers->version);
}

/* A modern client says so in the body or, when its body lacks that, in the
 * header. */
static bool is_modern(const struct rpc_headers *headers,
                      const struct rpc_message *message) {
  const struct json *meta = json_get(message->params, "_meta");
  return json_has(meta, META "protocolVersion") ||
         strcmp(message->method, "server/discover") == 0 ||
         (headers->version != NULL &&
          strcmp(headers->version, RPC_MODERN) == 0);
}

int rpc_read(const struct json *body, const struct rpc_headers *headers,
             struct rpc_message *ret, struct rpc_fault *fault) {
  *ret = (struct rpc_message){.method = json_get_text(body, "method"),
                              .params = json_get(body, "params")};
  if (json_kind(body) == JSON_ARRAY)
    return rpc_fail(fault, false, RPC_INVALID_REQUEST,
                    "one message a request: batches are not taken");
  const struct json *id = json_get(body, "id");
  bool has_id = json_kind(id) == JSON_STRING || json_kind(id) == JSON_INTEGER ||
                json_kind(id) == JSON_NUMBER;
  if (has_id)
    ret->id = id;
  const char *version = json_get_text(body, "jsonrpc");
  if (ret->method == NULL || version == NULL || strcmp(version, "2.0") != 0 ||
      (json_has(body, "id") && !has_id) ||
      (ret->params != NULL && json_kind(ret->params) != JSON_OBJECT))
    return rpc_fail(fault, false, RPC_INVALID_REQUEST,
                    "the body is no request of JSON-RPC 2.0: an object with "
                    "\"jsonrpc\": \"2.0\", \"id\" and \"method\"");
  ret->modern = is_modern(headers, ret);
  return ret->modern ? check_modern(headers, ret, fault)
                     : check_legacy(headers, ret, fault);
}

const char *rpc_negotiate(const char *wanted) {
  for (size_t i = 0; wanted != NULL && i < 2; i++)
    if (strcmp(wanted, legacy[i]) == 0)
      return legacy[i];
  return RPC_LEGACY;
}

struct json *rpc_server_info(void) {
  struct json *info = json_object();
  json_set_text(info, "name", "cellpost");
  json_set_text(info, "title", "Cellpost");
  json_set_text(info, "version", CELLPOST_VERSION);
  return info;
}

static struct json *envelope(const struct rpc_message *message) {
  struct json *answer = json_object();
  json_set_text(answer, "jsonrpc", "2.0");
  json_set(answer, "id", json_share(message->id));
  return answer;
}

struct json *rpc_result(const struct rpc_message *message,
                        struct json *result) {
  struct json *answer = envelope(message);
  if (message->modern) {
    struct json *meta = json_object();
    json_set(meta, META "serverInfo", rpc_server_info());
    json_set_text(result, "resultType", "complete");
    json_set(result, "_meta", meta);
  }
  json_set(answer, "result", result);
  return answer;
}

struct json *rpc_error(const struct rpc_message *message,
                       const struct rpc_fault *fault) {
  struct json *answer = envelope(message), *error = json_object();
  json_set_integer(error, "code", fault->code);
  json_set_text(error, "message", fault->text);
  if (fault->data != NULL)
    json_set(error, "data", json_share(fault->data));
  json_set(answer, "error", error);
  return answer;
}

struct json *rpc_notification(const char *method, struct json *params) {
  struct json *message = json_object();
  json_set_text(message, "jsonrpc", "2.0");
  json_set_text(message, "method", method);
  json_set(message, "params", params);
  return message;
}
