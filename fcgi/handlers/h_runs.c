/* /v1/runs, /v1/runs.csv, /v1/hours, /v1/runs/{run} and /v1/tasks/{task}/runs
 */
#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/run/history.h"
#include "core/run/run.h"
#include "fcgi/handlers/run_query.h"
#include "fcgi/http/handler.h"

static int list_runs(struct call *call, const char *task, struct err *err) {
  int64_t limit;
  struct run_filter filter;
  CLEANUP(json_done) struct json *answer = NULL;
  if (run_query_read(call->request, task, &filter, err) < 0 ||
      request_integer(call->request, "limit", 1, 1000, 100, &limit, err) < 0 ||
      history_list_runs(call->engine, &filter, (int)limit, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

int handle_list_runs(struct call *call, struct err *err) {
  return list_runs(call, NULL, err);
}

int handle_list_task_runs(struct call *call, struct err *err) {
  return list_runs(call, call->task, err);
}

/* A page at a time: the first one can still be refused. */
int handle_export_runs(struct call *call, struct err *err) {
  enum { PAGE = 500 };
  int64_t left;
  struct run_filter filter;
  CLEANUP(buf_free) struct buf page = BUF_INIT(BUF_ANSWER);
  char next[ID_UUID_SIZE] = "";
  if (run_query_read(call->request, NULL, &filter, err) < 0 ||
      request_integer(call->request, "limit", 1, 1000000, 100000, &left, err) !=
          0)
    return -1;
  history_csv_head(&page);
  for (bool first = true; left > 0; left -= PAGE, first = false) {
    int wanted = left < PAGE ? (int)left : PAGE;
    if (history_csv_page(call->engine, &filter, wanted, &page, next, err) < 0)
      return first ? -1 : 0;
    if (first) {
      reply_header(call->reply, "Content-Disposition",
                   "attachment; filename=\"runs.csv\"");
      reply_start(call->reply, 200, "text/csv; charset=utf-8; header=present");
    }
    if (reply_write(call->reply, buf_string(&page), page.length) != 0 ||
        next[0] == '\0')
      return 0;
    buf_reset(&page);
    filter.before = next;
  }
  return 0;
}

int handle_hours(struct call *call, struct err *err) {
  struct run_filter filter;
  CLEANUP(json_done) struct json *answer = NULL;
  if (run_query_read(call->request, NULL, &filter, err) < 0)
    return -1;
  if (filter.since == 0)
    filter.since = clock_wall_us() - INT64_C(24) * 3600 * 1000000;
  if (history_hours(call->engine, &filter, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

int handle_describe_request(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  if (history_describe_request(call->engine, call->run, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

int handle_describe_run(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  if (run_describe(call->engine, call->run, &answer, err) < 0)
    return -1;
  return reply_json(call->reply, 200, answer, err);
}

/* 202: the wish is recorded; GET tells when the run has ended. */
int handle_cancel_run(struct call *call, struct err *err) {
  if (run_cancel(call->engine, call->run, call->caller.name, err) < 0)
    return -1;
  CLEANUP(json_done) struct json *answer = json_object();
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("/v1/runs/%s", call->run);
  json_set_text(answer, "run", call->run);
  json_set_boolean(answer, "cancel_requested", true);
  json_set_text(answer, "uri", uri);
  return reply_json(call->reply, 202, answer, err);
}
