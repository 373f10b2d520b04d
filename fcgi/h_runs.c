/* /v1/runs, /v1/runs/{run} and /v1/tasks/{task}/runs */
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/run/admin.h"
#include "core/run/run.h"
#include "core/store/run.h"
#include "fcgi/handler.h"

static int check_status(const char *status, struct err *err) {
  if (status == NULL)
    return 0;
  for (int known = RUN_QUEUED; known <= RUN_NOT_RUN; known++)
    if (strcmp(status, run_status_name((enum run_status)known)) == 0)
      return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"status\" is no status of a run");
}

static int check_before(const char *before, struct err *err) {
  if (before == NULL || id_is_uuid(before))
    return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"before\" must be the id of a run");
}

static int list_runs(struct call *call, const char *task, struct err *err) {
  int64_t limit;
  struct json *answer CLEANUP(json_done) = NULL;
  const char *before = request_parameter(call->request, "before");
  const char *status = request_parameter(call->request, "status");
  if (check_before(before, err) != 0 || check_status(status, err) != 0 ||
      request_integer(call->request, "limit", 1, 1000, 100, &limit, err) != 0 ||
      admin_list_runs(call->engine, task, before, status, (int)limit, &answer,
                      err) != 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

int handle_list_runs(struct call *call, struct err *err) {
  return list_runs(call, NULL, err);
}

int handle_list_task_runs(struct call *call, struct err *err) {
  return list_runs(call, call->task, err);
}

int handle_describe_run(struct call *call, struct err *err) {
  struct json *answer CLEANUP(json_done) = NULL;
  if (run_describe(call->engine, call->run, &answer, err) != 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

/* 202: the wish is recorded; GET tells when the run has ended. */
int handle_cancel_run(struct call *call, struct err *err) {
  if (run_cancel(call->engine, call->run, call->caller.name, err) != 0)
    return -1;
  struct json *answer CLEANUP(json_done) = json_object();
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("/v1/runs/%s", call->run);
  json_set_text(answer, "run", call->run);
  json_set_boolean(answer, "cancel_requested", true);
  json_set_text(answer, "uri", uri);
  return reply_json(call->reply, 202, answer, err);
}
