/* The control plane: a sandbox is a task that ends at a time. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/worker.h"
#include "core/run/admin/admin.h"
#include "core/store/sandbox.h"
#include "fcgi/e2b/e2b.h"

#define TEMPLATE "code-interpreter-v1"
/* The SDKs choose by it what they send: below 0.5.7 files come as multipart
 * forms, from 0.4.0 on without a user name. */
#define ENVD_VERSION "0.4.0"
#define TIMEOUT 300.0        /* seconds, E2B's own default */
#define TIMEOUT_MOST 86400.0 /* E2B's, too */
#define US 1000000
#define LONG_PAUSE (365 * 86400 * CLOCK_S)

static struct json *time_text(int64_t at) {
  char text[CLOCK_ISO_SIZE];
  clock_format_iso(at, text);
  return json_string(text);
}

/* Requests to the sandbox show what the control plane was shown. */
static void set_secrets(const struct call *call, struct json *answer) {
  const char *key = request_header(call->request, "HTTP_X_API_KEY");
  if (key == NULL || strncmp(key, "cp_", 3) != 0)
    return;
  json_set_text(answer, "envdAccessToken", key);
  json_set_text(answer, "trafficAccessToken", key);
}

static struct json *describe(const struct sandbox_record *record) {
  struct json *answer = json_object();
  json_set_text(answer, "sandboxID", record->task);
  json_set_text(answer, "templateID", record->template);
  json_set_text(answer, "clientID", "cellpost");
  json_set_text(answer, "envdVersion", ENVD_VERSION);
  json_set(answer, "domain", NULL);
  json_set(answer, "startedAt", time_text(record->started_at));
  json_set(answer, "endAt", time_text(record->ends_at));
  json_set_text(answer, "state", "running");
  json_set(answer, "metadata", json_share(record->metadata));
  json_set_integer(answer, "cpuCount", 1);
  json_set_integer(answer, "memoryMB", 0);
  json_set_integer(answer, "diskSizeMB", 0);
  return answer;
}

static void set_sizes(const struct call *call, struct json *answer) {
  json_set_integer(answer, "memoryMB", call->conf->memory >> 20);
  json_set_integer(answer, "diskSizeMB", call->conf->workspace_bytes >> 20);
}

static int read_timeout(const struct json *body, double otherwise, double *ret,
                        struct err *err) {
  *ret = json_has(body, "timeout")
             ? json_as_number(json_get(body, "timeout"), -1)
             : otherwise;
  if (*ret < 0 || *ret > TIMEOUT_MOST)
    return err_set(err, ERR_INVALID, "timeout must be 0 to %.0f seconds",
                   TIMEOUT_MOST);
  return 0;
}

static int64_t end_after(double seconds) {
  return clock_wall_us() + (int64_t)(seconds * US);
}

struct asked {
  const struct json *environment;
};

static const struct field asked_fields[] = {
    {"env", FIELD_ENVIRONMENT, false, offsetof(struct asked, environment), 0,
     256, NULL},
};

static int make_task(struct call *call, const char *id, const struct json *body,
                     struct err *err) {
  CLEANUP(json_done) struct json *settings = json_object();
  CLEANUP(json_done) struct json *made = NULL;
  const struct json *variables = json_get(body, "envVars");
  struct asked asked = {NULL};
  if (variables != NULL)
    json_set(settings, "env", json_copy(variables));
  if (fields_read(settings, asked_fields, COUNT_OF(asked_fields), &asked, NULL,
                  err) < 0)
    return err_wrap(err, "envVars");
  return admin_put_task(call->engine, id, settings, call->caller.name, &made,
                        err) < 0
             ? -1
             : 0;
}

int e2b_create(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(sandbox_record_free) struct sandbox_record record = {0};
  char id[32] = "i";
  double timeout;
  if (e2b_body(call, &body, err) < 0 ||
      read_timeout(body, TIMEOUT, &timeout, err) < 0)
    return -1;
  const struct json *metadata = json_get(body, "metadata");
  const char *template = json_get_text(body, "templateID");
  id_random_hex(id + 1, 10);
  record = (struct sandbox_record){
      .task = mem_copy_text(id),
      .template = mem_copy_text(template == NULL ? TEMPLATE : template),
      .metadata = json_kind(metadata) == JSON_OBJECT ? json_copy(metadata)
                                                     : json_object(),
      .started_at = clock_wall_us(),
      .ends_at = end_after(timeout)};
  if (call_check_task(call, id, true, err) < 0 ||
      make_task(call, id, body, err) < 0 ||
      sandbox_add(engine_store(call->engine), &record, err) < 0)
    return -1;
  e2b_wake();
  call->answer = describe(&record);
  set_sizes(call, call->answer);
  set_secrets(call, call->answer);
  return 201;
}

static int find(struct call *call, struct sandbox_record *ret,
                struct err *err) {
  return sandbox_get(engine_store(call->engine), call->task, ret, err);
}

int e2b_describe(struct call *call, struct err *err) {
  CLEANUP(sandbox_record_free) struct sandbox_record record = {0};
  if (find(call, &record, err) < 0)
    return -1;
  call->answer = describe(&record);
  set_sizes(call, call->answer);
  return 200;
}

static int prolong(struct call *call, const struct json *body, double otherwise,
                   struct err *err) {
  double timeout;
  if (read_timeout(body, otherwise, &timeout, err) < 0 ||
      sandbox_prolong(engine_store(call->engine), call->task,
                      end_after(timeout), err) < 0)
    return -1;
  e2b_wake();
  return 0;
}

/* The end is never brought nearer by somebody who only looks in. */
int e2b_connect(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(sandbox_record_free) struct sandbox_record record = {0};
  if (e2b_body(call, &body, err) < 0 || find(call, &record, err) < 0)
    return -1;
  double timeout;
  if (read_timeout(body, TIMEOUT, &timeout, err) < 0)
    return -1;
  if (end_after(timeout) > record.ends_at) {
    record.ends_at = end_after(timeout);
    if (sandbox_prolong(engine_store(call->engine), call->task, record.ends_at,
                        err) < 0)
      return -1;
    e2b_wake();
  }
  call->answer = describe(&record);
  set_sizes(call, call->answer);
  set_secrets(call, call->answer);
  return 200;
}

int e2b_set_timeout(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  if (e2b_body(call, &body, err) < 0 || prolong(call, body, TIMEOUT, err) < 0)
    return -1;
  reply_text(call->reply, 204, "application/json", "", 0);
  return 0;
}

/* metadata=a%3D1%26b%3D2: each pair must be there. */
static bool fits(const struct json *metadata, const char *wanted) {
  while (wanted != NULL && *wanted != '\0') {
    size_t length = strcspn(wanted, "&");
    CLEANUP(mem_free_pointer) char *pair = mem_copy_bytes(wanted, length);
    char *value = strchr(pair, '=');
    if (value != NULL)
      *value++ = '\0';
    const char *have = json_get_text(metadata, pair);
    if (have == NULL || (value != NULL && strcmp(have, value) != 0))
      return false;
    wanted += length + (wanted[length] == '&');
  }
  return true;
}

static bool is_wanted(struct call *call, const struct sandbox_record *record) {
  const char *state = request_parameter(call->request, "state");
  return call_check_task(call, record->task, false, NULL) >= 0 &&
         fits(record->metadata, request_parameter(call->request, "metadata")) &&
         (state == NULL || strstr(state, "running") != NULL);
}

/* Adds those that the caller may know, up to `limit`. *after: the last one that
 * was looked at; NULL: there are no more. */
static int list_page(struct call *call, size_t limit, char **after,
                     struct err *err) {
  enum { PAGE = 200 };
  size_t count = 0, at = 0;
  struct sandbox_record *list = NULL;
  if (sandbox_list(engine_store(call->engine), *after, PAGE, &list, &count,
                   err) < 0)
    return -1;
  mem_free_pointer(after);
  *after = NULL;
  for (; at < count && json_length(call->answer) < limit; at++) {
    if (!is_wanted(call, &list[at]))
      continue;
    struct json *one = describe(&list[at]);
    set_sizes(call, one);
    json_push(call->answer, one);
  }
  if (at < count || count == PAGE)
    *after = mem_copy_text(list[at - 1].task);
  sandbox_list_free(list, count);
  return 0;
}

/* A page ends with one of the caller's own, so that its token tells nothing of
 * others. */
int e2b_list(struct call *call, struct err *err) {
  int64_t limit;
  CLEANUP(mem_free_pointer)
  char *after = mem_copy_text(request_parameter(call->request, "nextToken"));
  if (request_integer(call->request, "limit", 1, 1000, 100, &limit, err) < 0)
    return -1;
  call->answer = json_array();
  do {
    if (list_page(call, (size_t)limit, &after, err) < 0)
      return -1;
  } while (after != NULL && json_length(call->answer) < (size_t)limit);
  size_t length = json_length(call->answer);
  if (after != NULL)
    reply_header(call->reply, "X-Next-Token",
                 json_get_text(json_at(call->answer, length - 1), "sandboxID"));
  return 200;
}

/* Its history and files stay until retention takes them. */
static int end_sandbox(struct engine *engine, const char *task, const char *by,
                       struct err *err) {
  CLEANUP(json_done) struct json *deleted = NULL;
  struct err fault;
  if (sandbox_end(engine_store(engine), task, err) < 0)
    return -1;
  if (admin_delete_task(engine, task, false, by, &deleted, &fault) < 0 &&
      fault.kind != ERR_NOT_FOUND)
    return err_set(err, fault.kind, "%s", fault.text);
  return 0;
}

int e2b_kill(struct call *call, struct err *err) {
  if (end_sandbox(call->engine, call->task, call->caller.name, err) < 0)
    return -1;
  reply_text(call->reply, 204, "application/json", "", 0);
  return 0;
}

static struct worker worker;
static bool works;

/* How long until the first one ends; those whose time has come are ended. */
static int64_t end_due(struct engine *engine) {
  for (;;) {
    struct err err;
    CLEANUP(sandbox_record_free) struct sandbox_record record = {0};
    if (sandbox_next(engine_store(engine), &record, &err) < 0)
      return err.kind == ERR_NOT_FOUND ? LONG_PAUSE : 5 * CLOCK_S;
    int64_t left = record.ends_at - clock_wall_us();
    if (left > 0)
      return left * 1000;
    if (end_sandbox(engine, record.task, "e2b", &err) < 0 &&
        err.kind != ERR_NOT_FOUND) {
      log_warning("sandbox %s is not ended: %s", record.task, err.text);
      return 5 * CLOCK_S;
    }
    log_info("sandbox %s has ended: its time is over", record.task);
  }
}

static void *end_all(void *engine) {
  while (worker_wait(&worker, end_due(engine)))
    ;
  return NULL;
}

int e2b_start(struct engine *engine, struct err *err) {
  if (worker_start(&worker, end_all, engine, "the ends of sandboxes", err) < 0)
    return -1;
  works = true;
  return 0;
}

void e2b_stop(void) {
  if (works)
    worker_stop(&worker);
  works = false;
}

void e2b_wake(void) {
  if (!works)
    return;
  pthread_mutex_lock(&worker.mutex);
  worker.wake = true;
  pthread_cond_signal(&worker.changed);
  pthread_mutex_unlock(&worker.mutex);
}
