/* /v1/runs, /v1/runs.csv, /v1/hours, /v1/runs/{run} and /v1/tasks/{task}/runs
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/run/history/history.h"
#include "core/run/run.h"
#include "core/store/access/token.h"
#include "fcgi/handlers/routes.h"

static int check_status(const char *status, struct err *err) {
  if (status == NULL || strcmp(status, "failed") == 0)
    return 0;
  for (int known = RUN_QUEUED; known <= RUN_NOT_RUN; known++)
    if (strcmp(status, run_status_name((enum run_status)known)) == 0)
      return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"status\" is no status of a run, nor "
                 "\"failed\"");
}

static int check_before(const char *before, struct err *err) {
  if (before == NULL || id_is_uuid(before))
    return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"before\" must be the id of a run");
}

static int check_task(const char *task, struct err *err) {
  if (task == NULL || id_is_task(task))
    return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"task\" must be the id of a task");
}

/* In a query an offset's "+" that was not escaped has become a space. */
static int parse_time(const char *text, int64_t *ret) {
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(text);
  char *space = strrchr(copy, ' ');
  if (clock_parse_iso(text, ret) >= 0)
    return *ret > 0 ? 0 : -1;
  if (space == NULL)
    return -1;
  *space = '+';
  return clock_parse_iso(copy, ret) >= 0 && *ret > 0 ? 0 : -1;
}

static int read_time(const struct request *request, const char *name,
                     int64_t *ret, struct err *err) {
  const char *text = request_parameter(request, name);
  *ret = 0;
  if (text == NULL || parse_time(text, ret) >= 0)
    return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"%s\" must be a time such as "
                 "2026-11-29T20:04:58Z, or a date",
                 name);
}

/* The run to list from is one that the caller may know of. */
static int check_place(const struct call *call, const struct run_filter *filter,
                       struct err *err) {
  if (filter->before == NULL || filter->rights == NULL)
    return 0;
  int may = token_may_run(engine_store(call->engine), filter->rights,
                          filter->before, err);
  return may == 0 ? err_set(err, ERR_NOT_FOUND, "no such run to list from")
                  : (may < 0 ? -1 : 0);
}

/* The query parameters that choose runs; the task may be given by the path. */
static int read_filter(const struct call *call, struct run_filter *ret,
                       struct err *err) {
  const struct request *request = call->request;
  struct run_filter filter = {.task = call->task == NULL
                                          ? request_parameter(request, "task")
                                          : call->task,
                              .status = request_parameter(request, "status"),
                              .error = request_parameter(request, "error"),
                              .text = request_parameter(request, "text"),
                              .before = request_parameter(request, "before"),
                              .rights = caller_rights(&call->caller)};
  if (check_task(filter.task, err) < 0 ||
      check_status(filter.status, err) < 0 ||
      check_before(filter.before, err) < 0 ||
      read_time(request, "since", &filter.since, err) < 0 ||
      read_time(request, "until", &filter.until, err) < 0 ||
      check_place(call, &filter, err) < 0)
    return -1;
  *ret = filter;
  return 0;
}

int handle_runs_list(struct call *call, struct err *err) {
  int64_t limit;
  struct run_filter filter;
  if (read_filter(call, &filter, err) < 0 ||
      request_integer(call->request, "limit", 1, 1000, 100, &limit, err) < 0 ||
      history_list_runs(call->engine, &filter, (int)limit, &call->answer, err) <
          0)
    return -1;
  return 200;
}

/* A page at a time: the first one can still be refused. */
int handle_runs_export(struct call *call, struct err *err) {
  enum { PAGE = 500 };
  int64_t left;
  struct run_filter filter;
  CLEANUP(buf_free) struct buf page = BUF_INIT(BUF_ANSWER);
  char next[ID_UUID_SIZE] = "";
  if (read_filter(call, &filter, err) < 0 ||
      request_integer(call->request, "limit", 1, 1000000, 100000, &left, err) <
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
    if (reply_write(call->reply, buf_string(&page), page.length) < 0 ||
        next[0] == '\0')
      return 0;
    buf_reset(&page);
    filter.before = next;
  }
  return 0;
}

int handle_runs_hours(struct call *call, struct err *err) {
  struct run_filter filter;
  if (read_filter(call, &filter, err) < 0)
    return -1;
  if (filter.since == 0)
    filter.since = clock_wall_us() - INT64_C(24) * 3600 * 1000000;
  if (history_hours(call->engine, &filter, &call->answer, err) < 0)
    return -1;
  return 200;
}

int handle_runs_request(struct call *call, struct err *err) {
  return history_describe_request(call->engine, call->run, &call->answer, err) <
                 0
             ? -1
             : 200;
}

int handle_runs_describe(struct call *call, struct err *err) {
  return history_describe_run(call->engine, call->run, &call->answer, err) < 0
             ? -1
             : 200;
}

/* 202: the wish is recorded; GET tells when the run has ended. */
int handle_runs_cancel(struct call *call, struct err *err) {
  if (run_cancel(call->engine, call->run, call->caller.name, err) < 0)
    return -1;
  struct json *answer = call->answer = json_object();
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("/v1/runs/%s", call->run);
  json_set_text(answer, "run", call->run);
  json_set_boolean(answer, "cancel_requested", true);
  json_set_text(answer, "uri", uri);
  return 202;
}
