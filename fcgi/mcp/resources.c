/* What tasks leave on disk as MCP resources:
 *   cellpost://tasks/{task}/notebook.ipynb
 *   cellpost://tasks/{task}/files/{path}
 *   cellpost://tasks/{task}/artifacts/{name} */
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/admin/admin.h"
#include "core/run/files/files.h"
#include "fcgi/mcp/content.h"
#include "fcgi/mcp/mcp.h"

#define SCHEME "cellpost://tasks/"

static struct json *notebook_of(const char *task) {
  struct json *link =
      content_link(task, "notebook.ipynb", "application/x-ipynb+json", -1);
  CLEANUP(mem_free_pointer) char *name = mem_format("%s.ipynb", task);
  CLEANUP(mem_free_pointer) char *title = mem_format("Notebook of %s", task);
  json_remove(link, "type");
  json_set_text(link, "name", name);
  json_set_text(link, "title", title);
  return link;
}

int mcp_list_resources(struct mcp *mcp, struct json **ret,
                       struct rpc_fault *fault) {
  CLEANUP(json_done) struct json *listed = NULL;
  struct err err;
  const char *cursor = json_get_text(mcp->message.params, "cursor");
  if (cursor != NULL && !id_is_task(cursor))
    return rpc_fail(fault, mcp->message.modern, RPC_INVALID_PARAMS,
                    "\"%.100s\" is no cursor of this list", cursor);
  if (call_check_scope(mcp->call, SCOPE_READ, &err) < 0)
    return rpc_fail(fault, mcp->message.modern, RPC_INVALID_PARAMS, "%s",
                    err.text);
  if (admin_list_tasks(mcp->call->engine, caller_rights(&mcp->call->caller),
                       cursor, 100, &listed, &err) < 0)
    return rpc_fail(fault, mcp->message.modern, RPC_INTERNAL, "%s", err.text);
  const struct json *tasks = json_get(listed, "tasks");
  struct json *resources = json_array();
  for (size_t i = 0; i < json_length(tasks); i++)
    json_push(resources, notebook_of(json_get_text(json_at(tasks, i), "task")));
  *ret = json_object();
  json_set(*ret, "resources", resources);
  if (json_get_text(listed, "next") != NULL)
    json_set_text(*ret, "nextCursor", json_get_text(listed, "next"));
  return 0;
}

int mcp_list_templates(struct mcp *mcp, struct json **ret,
                       struct rpc_fault *fault) {
  static const struct {
    const char *uri, *name, *description;
  } templates[] = {
      {SCHEME "{task}/notebook.ipynb", "notebook",
       "All cells of a task with their outputs (nbformat 4.5)"},
      {SCHEME "{task}/files/{+path}", "file", "A file of a task's workspace"},
      {SCHEME "{task}/artifacts/{name}", "artifact",
       "An image or another rich output of a task"},
  };
  struct json *list = json_array();
  (void)mcp;
  (void)fault;
  for (size_t i = 0; i < COUNT_OF(templates); i++) {
    struct json *row = json_object();
    json_set_text(row, "uriTemplate", templates[i].uri);
    json_set_text(row, "name", templates[i].name);
    json_set_text(row, "description", templates[i].description);
    json_push(list, row);
  }
  *ret = json_object();
  json_set(*ret, "resourceTemplates", list);
  return 0;
}

static int not_found(struct mcp *mcp, const char *uri,
                     struct rpc_fault *fault) {
  bool modern = mcp->message.modern;
  rpc_fail(fault, modern, modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
           "there is no resource %.200s", uri == NULL ? "without uri" : uri);
  fault->data = json_object();
  json_set_text(fault->data, "uri", uri);
  return -1;
}

/* The task, and the rest as the path beneath its directory. */
static bool split(const char *uri, char task[ID_TASK_SIZE], const char **path) {
  if (uri == NULL || strncmp(uri, SCHEME, sizeof SCHEME - 1) != 0)
    return false;
  const char *start = uri + sizeof SCHEME - 1;
  size_t length = strcspn(start, "/");
  if (length >= ID_TASK_SIZE || start[length] == '\0')
    return false;
  memcpy(task, start, length);
  task[length] = '\0';
  *path = start + length + 1;
  return id_is_task(task);
}

static struct json *contents_of(const char *uri, const char *mime,
                                const struct buf *bytes) {
  struct json *one = json_object(), *all = json_array();
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  json_set_text(one, "uri", uri);
  json_set_text(one, "mimeType", mime);
  if (utf8_is_valid(buf_string(bytes), bytes->length)) {
    json_set(one, "text", json_string_n(buf_string(bytes), bytes->length));
  } else {
    crypto_base64_encode(buf_string(bytes), bytes->length, &text);
    json_set_text(one, "blob", buf_string(&text));
  }
  json_push(all, one);
  return all;
}

int mcp_read_resource(struct mcp *mcp, struct json **ret,
                      struct rpc_fault *fault) {
  const char *uri = json_get_text(mcp->message.params, "uri");
  const char *path = NULL;
  char task[ID_TASK_SIZE], mime[MIME_SIZE];
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(FILES_READ_MOST);
  struct err err;
  if (!split(uri, task, &path))
    return not_found(mcp, uri, fault);
  if (call_check_scope(mcp->call, SCOPE_READ, &err) < 0)
    return rpc_fail(fault, mcp->message.modern, RPC_INVALID_PARAMS, "%s",
                    err.text);
  if (call_check_task(mcp->call, task, false, &err) < 0 ||
      files_read(mcp->call->engine, task, path, &bytes, mime, &err) < 0)
    return err.kind == ERR_NOT_FOUND || err.kind == ERR_INVALID
               ? not_found(mcp, uri, fault)
               : rpc_fail(fault, mcp->message.modern, RPC_INTERNAL, "%s",
                          err.text);
  *ret = json_object();
  json_set(*ret, "contents", contents_of(uri, mime, &bytes));
  return 0;
}
