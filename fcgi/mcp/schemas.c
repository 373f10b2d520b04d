/* GET /v1/tools: the tools of /mcp in the forms that models' interfaces take.
 */
#include <string.h>

#include "core/base/mem.h"
#include "fcgi/mcp/mcp.h"

enum form { FORM_OPENAI, FORM_ANTHROPIC, FORM_MCP };

static const char *const forms[] = {[FORM_OPENAI] = "openai",
                                    [FORM_ANTHROPIC] = "anthropic",
                                    [FORM_MCP] = "mcp"};

static int read_form(const struct call *call, size_t *ret, struct err *err) {
  const char *wanted = request_parameter(call->request, "format");
  size_t at = 0;
  while (wanted != NULL && at < COUNT_OF(forms) &&
         strcmp(forms[at], wanted) != 0)
    at++;
  if (at == COUNT_OF(forms))
    return err_set(err, ERR_FIELD,
                   "the format \"%.40s\" is none of openai, anthropic, mcp",
                   wanted);
  *ret = at;
  return 0;
}

/* A parameter named by a header is a matter of MCP alone. */
static struct json *schema_of(const struct json *tool) {
  struct json *schema = json_copy(json_get(tool, "inputSchema"));
  json_remove(json_get(json_get(schema, "properties"), "task"), "x-mcp-header");
  return schema;
}

static struct json *in_form(const struct json *tool, size_t form) {
  if (form == FORM_MCP)
    return json_copy(tool);
  struct json *function = json_object();
  json_set_text(function, "name", json_get_text(tool, "name"));
  json_set_text(function, "description", json_get_text(tool, "description"));
  json_set(function, form == FORM_OPENAI ? "parameters" : "input_schema",
           schema_of(tool));
  if (form == FORM_ANTHROPIC)
    return function;
  struct json *entry = json_object();
  json_set_text(entry, "type", "function");
  json_set(entry, "function", function);
  return entry;
}

int mcp_schemas(struct call *call, struct err *err) {
  size_t form = FORM_OPENAI;
  CLEANUP(json_done) struct json *tools = NULL;
  if (read_form(call, &form, err) < 0 || mcp_tools(&tools, err) < 0)
    return -1;
  struct json *list = json_array();
  for (size_t i = 0; i < json_length(tools); i++)
    json_push(list, in_form(json_at(tools, i), form));
  call->answer = json_object();
  json_set_text(call->answer, "format", forms[form]);
  json_set_text(call->answer, "system", MCP_INSTRUCTIONS);
  json_set(call->answer, "tools", list);
  return 200;
}
