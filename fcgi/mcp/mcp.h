/* POST /mcp: the Model Context Protocol's door to the same runs, files and
 * notebooks as /v1. Stateless but for runs that go on: rpc.h says how a message
 * is read, tools.json what a model is told. */
#ifndef CELLPOST_FCGI_MCP_MCP_H
#define CELLPOST_FCGI_MCP_MCP_H

#include "fcgi/http/call.h"
#include "fcgi/mcp/rpc.h"

/* The route's handler. It answers by itself, with faults of the protocol, too.
 */
handler mcp_serve;

/* GET /v1/tools?format=openai|anthropic|mcp: {"format", "system": what to tell
 * a model beside its tools, "tools": […]}. */
handler mcp_schemas;

/* For a model, beside its tools. */
#define MCP_INSTRUCTIONS                                                       \
  "Cellpost runs Python in notebooks that keep their variables. Give every "   \
  "piece of work a task name of its own and use it in all calls; `execute` "   \
  "runs a cell and shows what came of it. Files of a task stand in /work. "    \
  "There is no network in a cell."

/* The list in tools.json; the caller owns it. */
int mcp_tools(struct json **ret, struct err *err);

/* One message on its way through a method or a tool. */
struct mcp {
  struct call *call;
  struct rpc_message message;
  /* The client's word that an `Mcp-Session-Id` was given to; NULL: none. Names
   * its runs when it asks for their end. */
  const char *session;
};

/* A method or tool: a result object, or a fault. The caller owns *ret. */
typedef int mcp_method(struct mcp *mcp, struct json **ret,
                       struct rpc_fault *fault);

/* tools/list and tools/call. A tool that runs a cell answers by itself; then
 * *ret is NULL and nothing is left to be written. */
mcp_method mcp_list_tools, mcp_call_tool;

/* resources/list, resources/templates/list, resources/read. */
mcp_method mcp_list_resources, mcp_list_templates, mcp_read_resource;

/* Writes the whole response: `status` is of HTTP, `message` borrowed. */
void mcp_reply(struct mcp *mcp, int status, const struct json *message);

#endif
