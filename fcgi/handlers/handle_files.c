/* /v1/tasks/{task}/files and what is beneath */
#include "core/base/mem.h"
#include "core/run/admin/files.h"
#include "fcgi/handlers/routes.h"

int handle_files_list(struct call *call, struct err *err) {
  int64_t limit;
  CLEANUP(json_done) struct json *answer = NULL;
  const char *path = call->path == NULL ? "" : call->path;
  const char *after = request_parameter(call->request, "after");
  if (request_integer(call->request, "limit", 1, 1000, 200, &limit, err) < 0 ||
      files_list(call->engine, call->task, path, after, (int)limit, &answer,
                 err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

int handle_files_put(struct call *call, struct err *err) {
  const struct buf *body = &call->request->body;
  CLEANUP(json_done) struct json *answer = NULL;
  int made = files_put(call->engine, call->task, call->path, buf_string(body),
                       body->length, &answer, err);
  if (made < 0)
    return -1;
  if (made == 1)
    reply_header(call->reply, "Location", json_get_text(answer, "uri"));
  return reply_json(call->reply, made == 1 ? 201 : 200, answer, err);
}

int handle_files_delete(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  if (files_delete(call->engine, call->task, call->path, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}
