/* The code interpreter: cells and contexts. A sandbox has one context, its
 * kernel; bash runs as a cell of it. */
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/admin/admin.h"
#include "core/run/run.h"
#include "fcgi/e2b/e2b.h"
#include "fcgi/e2b/e2b_lines.h"
#include "fcgi/e2b/e2b_path.h"
#include "fcgi/http/departure.h"

#define DEFAULT_CONTEXT "default"

static bool is_language(const char *language, const char *name) {
  return language != NULL && strcmp(language, name) == 0;
}

/* The cell as it is run: bash has a magic for it. */
static int read_code(const struct json *body, struct buf *code,
                     struct err *err) {
  const char *language = json_get_text(body, "language");
  const struct json *given = json_get(body, "code");
  const char *context = json_get_text(body, "context_id");
  if (json_text(given) == NULL)
    return err_set(err, ERR_INVALID, "\"code\" must be a text");
  if (context != NULL && strcmp(context, DEFAULT_CONTEXT) != 0)
    return err_set(err, ERR_NOT_FOUND, "there is no context %.100s", context);
  if (is_language(language, "bash"))
    buf_text(code, "%%bash\n");
  else if (language != NULL && !is_language(language, "python"))
    return err_set(err, ERR_INVALID,
                   "the language %.40s is not offered; python and bash are",
                   language);
  buf_append(code, json_text(given), json_text_length(given));
  return 0;
}

static void tell(void *stream, const char *type, const struct json *content) {
  stream_event(stream, type, content);
}

static int run_cell(struct call *call, const struct run_request *request,
                    struct stream *stream, struct err *err) {
  CLEANUP(accepted_done) struct accepted *accepted = NULL;
  CLEANUP(departure_done) struct departure departure = {.engine = NULL};
  struct sink sink = {.context = stream, .event = tell};
  if (accept_run(call->engine, request, &accepted, err) < 0)
    return -1;
  atomic_fetch_add(&call->service->metrics.runs, 1);
  log_set_run(accepted_id(accepted));
  if (stream != NULL)
    departure_watch(&departure, call, accepted_id(accepted));
  return run_perform(call->engine, accepted, stream == NULL ? NULL : &sink,
                     &call->answer, NULL, err);
}

int e2b_run(struct call *call, const char *code, size_t length, bool silent,
            const struct stream_form *form, struct err *err) {
  struct stream *stream = NULL;
  struct run_request request = {.task = call->task,
                                .code = code,
                                .code_length = length,
                                .timeout = -1,
                                .silent = silent,
                                .caller = call->caller.name,
                                .address = call->caller.address,
                                .request_id = call->request->id};
  if (call_take_run(call, call->task, err) < 0)
    return -1;
  if (form != NULL)
    stream = stream_open(call->reply, form);
  int result = run_cell(call, &request, stream, err);
  if (stream != NULL) {
    bool answers = result >= 0 || stream_is_started(stream);
    stream_close(stream, answers ? "answer" : NULL, call->answer);
    result = answers ? 0 : result;
  }
  call_give_place(call);
  return result;
}

/* Variables of one cell's environment: what they were before is kept under the
 * request's id until the cell has ended, and only these are put back. */
static int set_environment(struct call *call, const struct json *variables,
                           bool before, struct err *err) {
  static const char set[] =
      "(lambda os, kept, new: (kept.__setitem__('%s', {name: "
      "os.environ.get(name) for name in new}), os.environ.update(new)))("
      "__import__('os'), __import__('builtins').__dict__.setdefault("
      "'_cellpost_environments', {}), __import__('json').loads(";
  static const char put_back[] =
      "(lambda os, old: [os.environ.pop(name, None) if value is None else "
      "os.environ.__setitem__(name, value) for name, value in old.items()])("
      "__import__('os'), __import__('builtins').__dict__.get("
      "'_cellpost_environments', {}).pop('%s', {}));";
  CLEANUP(buf_free) struct buf code = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (json_length(variables) == 0)
    return 0;
  if (e2b_sandbox(call, err) < 0)
    return -1;
  json_write(variables, &text);
  buf_format(&code, before ? set : put_back, call->request->id);
  if (before) {
    json_write_string(buf_string(&text), text.length, &code);
    buf_text(&code, "));");
  }
  int result = e2b_run(call, buf_string(&code), code.length, true, NULL, err);
  json_free(call->answer);
  call->answer = NULL;
  return result;
}

int e2b_execute(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(buf_free) struct buf code = BUF_INIT(BUF_REQUEST_BODY);
  struct err unused;
  if (e2b_sandbox(call, err) < 0 || e2b_body(call, &body, err) < 0 ||
      read_code(body, &code, err) < 0)
    return -1;
  const struct json *variables = json_get(body, "env_vars");
  if (set_environment(call, variables, true, err) < 0 ||
      e2b_sandbox(call, err) < 0)
    return -1;
  int result = e2b_run(call, buf_string(&code), code.length, false,
                       &e2b_lines_form, err);
  set_environment(call, variables, false, &unused);
  return result;
}

static struct json *context(void) {
  struct json *one = json_object();
  json_set_text(one, "id", DEFAULT_CONTEXT);
  json_set_text(one, "language", "python");
  json_set_text(one, "cwd", E2B_HOME);
  return one;
}

int e2b_contexts_list(struct call *call, struct err *err) {
  if (e2b_sandbox(call, err) < 0)
    return -1;
  call->answer = json_array();
  json_push(call->answer, context());
  return 200;
}

/* Another context would be another kernel with the same files. */
int e2b_contexts_create(struct call *call, struct err *err) {
  if (e2b_sandbox(call, err) < 0)
    return -1;
  return e2b_unsupported(call, err);
}

/* "default/restart" */
int e2b_contexts_restart(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *restarted = NULL;
  const struct request *request = call->request;
  if (e2b_sandbox(call, err) < 0)
    return -1;
  if (request->segment_count != 4 ||
      strcmp(request->segments[2], DEFAULT_CONTEXT) != 0 ||
      strcmp(request->segments[3], "restart") != 0)
    return err_set(err, ERR_NOT_FOUND, "there is no such context");
  if (call_take_place(call, err) < 0 ||
      admin_restart_task(call->engine, call->task, call->caller.name,
                         &restarted, err) < 0)
    return -1;
  call_give_place(call);
  call->answer = context();
  return 200;
}

int e2b_contexts_delete(struct call *call, struct err *err) {
  if (e2b_sandbox(call, err) < 0)
    return -1;
  return err_set(err, ERR_CONFLICT,
                 "the sandbox's only context ends with the sandbox");
}
