#include "fcgi/http/call.h"

#include "core/base/mem.h"

int call_read_fields(struct call *call, const struct field *fields,
                     size_t count, void *target, struct err *err) {
  CLEANUP(json_done) struct json *nothing = json_object();
  return fields_read(call->body == NULL ? nothing : call->body, fields, count,
                     target, &call->details, err);
}

int call_take_place(struct call *call, struct err *err) {
  if (!call->has_place &&
      run_places_take(&call->service->metrics.places, err) < 0)
    return -1;
  call->has_place = true;
  return 0;
}

void call_give_place(struct call *call) {
  if (call->has_place)
    run_places_give(&call->service->metrics.places);
  call->has_place = false;
}
