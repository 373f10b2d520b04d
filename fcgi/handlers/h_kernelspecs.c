/* GET /v1/kernelspecs */
#include "core/base/mem.h"
#include "core/run/admin.h"
#include "fcgi/http/handler.h"

int handle_list_kernelspecs(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  if (admin_list_kernelspecs(call->engine, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}
