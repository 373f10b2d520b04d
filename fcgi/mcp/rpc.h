/* One message of the Model Context Protocol, read and answered. Pure.
 *
 * The protocol speaks JSON-RPC 2.0 over POST. Two eras are served at one
 * address. In the modern one (revision 2026-07-28) every request stands alone:
 * `params._meta` names the revision and what the client can do, and headers
 * repeat what a proxy may want to see. In the legacy one (2025-11-25,
 * 2025-06-18) a client introduces itself by `initialize` first.
 * Source: modelcontextprotocol.io, specification 2026-07-28, "Transports" and
 * "Versioning". */
#ifndef CELLPOST_FCGI_MCP_RPC_H
#define CELLPOST_FCGI_MCP_RPC_H

#include <stdbool.h>

#include "core/json/json.h"

#define RPC_MODERN "2026-07-28"
#define RPC_LEGACY "2025-11-25" /* the newest that has `initialize` */

enum rpc_code {
  RPC_PARSE_ERROR = -32700,
  RPC_INVALID_REQUEST = -32600,
  RPC_METHOD_NOT_FOUND = -32601,
  RPC_INVALID_PARAMS = -32602,
  RPC_INTERNAL = -32603,
  RPC_RESOURCE_NOT_FOUND = -32002, /* legacy only */
  RPC_HEADER_MISMATCH = -32020,
  RPC_UNSUPPORTED_VERSION = -32022,
};

/* What the request's headers say; NULL: not sent. Values as they came, without
 * white space around them. */
struct rpc_headers {
  const char *version;    /* MCP-Protocol-Version */
  const char *method;     /* Mcp-Method */
  const char *name;       /* Mcp-Name */
  const char *param_task; /* Mcp-Param-Task */
};

/* A message that is well formed. Everything is borrowed from the JSON. */
struct rpc_message {
  const struct json *id; /* text or number; NULL: a notification */
  const char *method;
  const struct json *params; /* an object, or NULL */
  bool modern;
};

struct rpc_fault {
  enum rpc_code code;
  int status; /* of HTTP */
  char text[400];
  struct json *data; /* or NULL; the fault's */
};
void rpc_fault_done(struct rpc_fault *fault);

/* Fills in the fault with the HTTP status that belongs to the code in this era;
 * returns -1. */
int rpc_fail(struct rpc_fault *fault, bool modern, enum rpc_code code,
             const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Checks a parsed body against the headers. Of a message that is refused, ret
 * still has the id when there is one, so that the refusal can name it. */
int rpc_read(const struct json *body, const struct rpc_headers *headers,
             struct rpc_message *ret, struct rpc_fault *fault);

/* The whole answer, the caller's. `result` is taken over; in the modern era it
 * gets `resultType` and the server's name. */
struct json *rpc_result(const struct rpc_message *message, struct json *result);
struct json *rpc_error(const struct rpc_message *message,
                       const struct rpc_fault *fault);

/* A notification from us. `params` is taken over. */
struct json *rpc_notification(const char *method, struct json *params);

/* {"name", "title", "version"} */
struct json *rpc_server_info(void);

/* The revision that an `initialize` for `wanted` (may be NULL) is answered
 * with: the same when it is served, else the newest legacy one. */
const char *rpc_negotiate(const char *wanted);

/* A header's value: plain, or "=?base64?…?=" around UTF-8. True when it is the
 * text. */
bool rpc_header_is(const char *header, const char *text);

#endif
