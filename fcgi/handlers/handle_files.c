/* /v1/tasks/{task}/files and what is beneath */
#include "core/base/mem.h"
#include "core/run/admin/files.h"
#include "fcgi/handlers/routes.h"

int handle_files_list(struct call *call, struct err *err) {
  int64_t limit;
  const char *path = call->path == NULL ? "" : call->path;
  const char *after = request_parameter(call->request, "after");
  if (request_integer(call->request, "limit", 1, 1000, 200, &limit, err) < 0 ||
      files_list(call->engine, call->task, path, after, (int)limit,
                 &call->answer, err) < 0)
    return -1;
  return 200;
}

int handle_files_put(struct call *call, struct err *err) {
  const struct buf *body = &call->request->body;
  int made = files_put(call->engine, call->task, call->path, buf_string(body),
                       body->length, &call->answer, err);
  if (made < 0)
    return -1;
  if (made == 1)
    reply_header(call->reply, "Location", json_get_text(call->answer, "uri"));
  return made == 1 ? 201 : 200;
}

int handle_files_delete(struct call *call, struct err *err) {
  return files_delete(call->engine, call->task, call->path, &call->answer,
                      err) < 0
             ? -1
             : 200;
}
