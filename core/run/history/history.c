#include "core/run/history/history.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/answer.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/late_told.h"
#include "core/store/access/token.h"
#include "core/store/task.h"

/* A number of which `none` means that there is none. */
static void set_number(struct json *object, const char *key, int64_t value,
                       int64_t none) {
  json_set(object, key, value == none ? NULL : json_integer(value));
}

static int64_t wall_ms(const struct run_record *run) {
  bool timed = run->started_at != 0 && run->ended_at != 0;
  return timed ? (run->ended_at - run->started_at) / 1000 : -1;
}

/* "Name: text", the text alone where the kernel names no class, or NULL. The
 * caller's. */
static char *error_line(const struct run_record *run) {
  const char *ename = json_get_text(run->error, "ename");
  const char *evalue = json_get_text(run->error, "evalue");
  if (ename == NULL)
    return NULL;
  return mem_format("%s%s%.300s", ename, *ename == '\0' ? "" : ": ",
                    evalue == NULL ? "" : evalue);
}

/* The first characters of the code. */
static struct json *excerpt(const struct run_record *run) {
  enum { MOST = 200 };
  return json_string_n(run->code,
                       utf8_offset(run->code, run->code_length, MOST));
}

static struct json *summarize(const struct run_record *run) {
  struct json *object = json_object();
  json_set_text(object, "run", run->id);
  json_set_text(object, "task", run->task);
  json_set_integer(object, "number", run->number);
  json_set_text(object, "status", run_status_name(run->status));
  json_set_time(object, "queued", run->queued_at);
  json_set_time(object, "started", run->started_at);
  json_set_time(object, "ended", run->ended_at);
  set_number(object, "wall_ms", wall_ms(run), -1);
  set_number(object, "execution_count", run->execution_count, -1);
  json_set(object, "code", excerpt(run));
  json_set_text(object, "section", run->section);
  json_set_text(object, "caller", run->caller);
  set_number(object, "generation", run->generation, 0);
  CLEANUP(mem_free_pointer) char *error = error_line(run);
  json_set_text(object, "error", error);
  CLEANUP(mem_free_pointer) char *uri = mem_format("/v1/runs/%s", run->id);
  json_set_text(object, "uri", uri);
  return object;
}

/* Task and status alone have indexes of their own. */
static bool is_plain(const struct run_filter *filter) {
  return filter->error == NULL && filter->text == NULL && filter->since == 0 &&
         filter->until == 0 && rights_are_whole(filter->rights) &&
         (filter->status == NULL || strcmp(filter->status, "failed") != 0);
}

/* Somebody else's task is told as a missing one is. */
static int check_rights(struct engine *engine, const struct run_filter *filter,
                        struct err *err) {
  int may = token_may(engine->store, filter->rights, filter->task, err);
  return may == 0 ? err_set(err, ERR_NOT_FOUND, "no such task")
                  : (may < 0 ? -1 : 0);
}

static int find_runs(struct engine *engine, const struct run_filter *filter,
                     enum run_detail detail, int limit,
                     struct run_record **list, size_t *count, struct err *err) {
  CLEANUP(task_record_free) struct task_record task = {0};
  if (filter->task != NULL &&
      (check_rights(engine, filter, err) < 0 ||
       task_get(engine->store, filter->task, &task, err) < 0))
    return -1;
  if (is_plain(filter))
    return run_list(engine->store, filter->task, filter->before, filter->status,
                    detail, limit, list, count, err);
  return run_search(engine->store, filter, detail, limit, list, count, err);
}

int history_list_runs(struct engine *engine, const struct run_filter *filter,
                      int limit, struct json **ret, struct err *err) {
  struct run_record *list = NULL;
  size_t count = 0;
  if (find_runs(engine, filter, RUN_BRIEF, limit, &list, &count, err) < 0)
    return -1;
  struct json *runs = json_array();
  for (size_t i = 0; i < count; i++)
    json_push(runs, summarize(&list[i]));
  *ret = json_object();
  json_set(*ret, "runs", runs);
  json_set_text(*ret, "next",
                count == (size_t)limit ? list[count - 1].id : NULL);
  run_list_free(list, count);
  return 0;
}

int history_describe_request(struct engine *engine, const char *id,
                             struct json **ret, struct err *err) {
  CLEANUP(run_record_free) struct run_record run = {0};
  if (run_get(engine->store, id, &run, err) < 0)
    return -1;
  struct json *object = json_object();
  json_set_text(object, "run", run.id);
  json_set_text(object, "task", run.task);
  json_set_integer(object, "number", run.number);
  json_set(object, "code", json_string_n(run.code, run.code_length));
  json_set_text(object, "section", run.section);
  json_set(object, "tags",
           run.tags == NULL ? json_array() : json_share(run.tags));
  json_set_boolean(object, "silent", run.silent);
  json_set_text(object, "caller", run.caller);
  json_set_text(object, "address", run.address);
  json_set_text(object, "request_id", run.request_id);
  json_set(object, "timeout",
           run.timeout_ms == 0 ? NULL
                               : json_number((double)run.timeout_ms / 1000.0));
  json_set_text(object, "cell", run.cell);
  json_set_time(object, "queued", run.queued_at);
  json_set_time(object, "started", run.started_at);
  json_set_time(object, "ended", run.ended_at);
  json_set_time(object, "stop_asked", run.cancel_requested_at);
  *ret = object;
  return 0;
}

/* Among what came late, what this run itself put out after its end: the last of
 * its outputs. */
static void add_own_late(struct run_record *record, const struct json *stored) {
  size_t count = json_length(stored);
  size_t late = (size_t)record->late_outputs;
  struct late_told told = {0};
  late_told_add(&told, record->id, stored,
                count - (late < count ? late : count));
  CLEANUP(json_done) struct json *own = late_told_take(&told);
  if (record->late_told == NULL)
    record->late_told = MEM_STEAL(own);
  for (size_t i = 0; i < json_length(own); i++)
    json_push(record->late_told, json_share(json_at(own, i)));
}

int history_describe_run(struct engine *engine, const char *id,
                         struct json **answer, struct err *err) {
  CLEANUP(json_done) struct json *outputs = NULL;
  int64_t position = -1;
  bool here = live_look(engine->live, id, &outputs, &position);
  CLEANUP(run_record_free) struct run_record record = {0};
  if (run_get(engine->store, id, &record, err) < 0)
    return -1;
  if (!here || run_status_is_final(record.status)) {
    CLEANUP(json_done) struct json *stored = NULL;
    if (run_outputs(engine->store, id, &stored, err) < 0)
      return -1;
    json_free(outputs);
    outputs = answer_outputs(engine, record.task, stored);
    add_own_late(&record, stored);
  }
  *answer = answer_build(&record, outputs, engine->conf->inline_image_bytes);
  if (!run_status_is_final(record.status))
    json_set(*answer, "queue_position",
             position < 0 ? NULL : json_integer(position));
  return 0;
}

static struct json *milliseconds(int64_t us) {
  return us < 0 ? NULL : json_number((double)us / 1000.0);
}

int history_hours(struct engine *engine, const struct run_filter *filter,
                  struct json **ret, struct err *err) {
  CLEANUP(mem_free_pointer) struct run_hour *hours = NULL;
  size_t count = 0;
  if (run_hours(engine->store, filter, &hours, &count, err) < 0)
    return -1;
  struct json *list = json_array();
  for (size_t i = 0; i < count; i++) {
    struct json *hour = json_object();
    json_set_time(hour, "at", hours[i].at);
    json_set_integer(hour, "runs", hours[i].runs);
    json_set_integer(hour, "failed", hours[i].failed);
    json_set(hour, "median_ms", milliseconds(hours[i].median_us));
    json_set(hour, "p95_ms", milliseconds(hours[i].p95_us));
    json_push(list, hour);
  }
  *ret = json_object();
  json_set(*ret, "hours", list);
  return 0;
}

static void csv_text(struct buf *out, const char *text) {
  if (text == NULL)
    return;
  buf_byte(out, '"');
  if (*text != '\0' && strchr("=+-@\t\r", *text) != NULL)
    buf_byte(out, '\'');
  for (; *text != '\0'; text++) {
    if (*text == '"')
      buf_byte(out, '"');
    buf_byte(out, *text);
  }
  buf_byte(out, '"');
}

static void csv_time(struct buf *out, int64_t at) {
  char text[CLOCK_ISO_SIZE];
  if (at == 0)
    return;
  clock_format_iso(at, text);
  buf_text(out, text);
}

static void csv_number(struct buf *out, int64_t value, int64_t none) {
  if (value != none)
    buf_format(out, "%lld", (long long)value);
}

void history_csv_head(struct buf *out) {
  buf_text(out, "run,task,number,queued,started,ended,wall_ms,status,error,"
                "execution_count,section,caller,address,cpu_ms,"
                "memory_peak_bytes,output_bytes,generation,kernel_state,"
                "code\r\n");
}

static void csv_row(struct buf *out, const struct run_record *run) {
  CLEANUP(mem_free_pointer) char *error = error_line(run);
  buf_format(out, "%s,%s,%lld,", run->id, run->task, (long long)run->number);
  csv_time(out, run->queued_at), buf_byte(out, ',');
  csv_time(out, run->started_at), buf_byte(out, ',');
  csv_time(out, run->ended_at), buf_byte(out, ',');
  csv_number(out, wall_ms(run), -1), buf_byte(out, ',');
  buf_format(out, "%s,", run_status_name(run->status));
  csv_text(out, error), buf_byte(out, ',');
  csv_number(out, run->execution_count, -1), buf_byte(out, ',');
  csv_text(out, run->section), buf_byte(out, ',');
  csv_text(out, run->caller), buf_byte(out, ',');
  csv_text(out, run->address), buf_byte(out, ',');
  csv_number(out, run->cpu_ms, -1), buf_byte(out, ',');
  csv_number(out, run->memory_peak_bytes, -1), buf_byte(out, ',');
  csv_number(out, run->output_bytes, -1), buf_byte(out, ',');
  csv_number(out, run->generation, 0), buf_byte(out, ',');
  csv_text(out, run->kernel_state), buf_byte(out, ',');
  csv_text(out, run->code);
  buf_text(out, "\r\n");
}

int history_csv_page(struct engine *engine, const struct run_filter *filter,
                     int limit, struct buf *out, char next[37],
                     struct err *err) {
  struct run_record *list = NULL;
  size_t count = 0;
  if (find_runs(engine, filter, RUN_WHOLE, limit, &list, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    csv_row(out, &list[i]);
  memset(next, 0, ID_UUID_SIZE);
  if (count == (size_t)limit)
    memcpy(next, list[count - 1].id, ID_UUID_SIZE);
  run_list_free(list, count);
  return 0;
}
