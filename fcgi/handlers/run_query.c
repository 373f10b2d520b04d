#include "fcgi/handlers/run_query.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/id.h"

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

static int read_time(const struct request *request, const char *name,
                     int64_t *ret, struct err *err) {
  const char *text = request_parameter(request, name);
  *ret = 0;
  if (text == NULL || (clock_parse_iso(text, ret) == 0 && *ret > 0))
    return 0;
  return err_set(err, ERR_FIELD,
                 "the query parameter \"%s\" must be a time such as "
                 "2026-11-29T20:04:58Z, or a date",
                 name);
}

int run_query_read(const struct request *request, const char *task,
                   struct run_filter *ret, struct err *err) {
  struct run_filter filter = {
      .task = task == NULL ? request_parameter(request, "task") : task,
      .status = request_parameter(request, "status"),
      .error = request_parameter(request, "error"),
      .text = request_parameter(request, "text"),
      .before = request_parameter(request, "before")};
  if (check_task(filter.task, err) < 0 ||
      check_status(filter.status, err) < 0 ||
      check_before(filter.before, err) < 0 ||
      read_time(request, "since", &filter.since, err) < 0 ||
      read_time(request, "until", &filter.until, err) < 0)
    return -1;
  *ret = filter;
  return 0;
}
