/* /v1/tasks/{task}/cells and /v1/tasks/{task}/sections */
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/run/admin/markdown.h"
#include "core/run/history/sections.h"
#include "fcgi/handlers/routes.h"

struct cell_body {
  struct field_code markdown;
};

static const struct field cell_fields[] = {
    {"markdown", FIELD_CODE, true, offsetof(struct cell_body, markdown), 0, 0,
     NULL},
};

int handle_cells_add(struct call *call, struct err *err) {
  struct cell_body body = {.markdown = {NULL, 0}};
  if (call_read_fields(call, cell_fields, COUNT_OF(cell_fields), &body, err) <
      0)
    return -1;
  if (body.markdown.length == 0)
    return err_set(err, ERR_FIELD, "field \"markdown\": it is empty");
  if (call_take_place(call, err) < 0 ||
      markdown_add(call->engine, call->task, body.markdown.bytes,
                   body.markdown.length, call->caller.name, &call->answer,
                   err) < 0)
    return -1;
  call_give_place(call);
  return 201;
}

int handle_cells_sections(struct call *call, struct err *err) {
  int64_t limit, text_limit;
  const char *before = request_parameter(call->request, "before");
  if (before != NULL && !id_is_uuid(before))
    return err_set(err, ERR_FIELD,
                   "the query parameter \"before\" must be the id of a run");
  if (request_integer(call->request, "limit", 1, 1000, 1000, &limit, err) < 0 ||
      request_integer(call->request, "text_limit", 1, 10000000,
                      call->conf->text_limit, &text_limit, err) < 0 ||
      sections_list(call->engine, call->task, before, (int)limit, text_limit,
                    &call->answer, err) < 0)
    return -1;
  return 200;
}
