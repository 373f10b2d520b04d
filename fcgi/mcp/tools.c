/* tools/list and tools/call. What a model is told of the tools stands in
 * tools.json, which is compiled in; this file does what they promise. */
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/admin/admin.h"
#include "core/run/files/files.h"
#include "core/run/files/files_tenant.h"
#include "core/run/run.h"
#include "embedded.h"
#include "fcgi/http/fields.h"
#include "fcgi/mcp/await.h"
#include "fcgi/mcp/content.h"
#include "fcgi/mcp/mcp.h"

/* The arguments of all tools; each takes those that its table names. */
struct arguments {
  const char *task, *run, *path, *section;
  struct field_code code, base64; /* `code` is write_file's text, too */
  double timeout, wait;
  bool replay;
};

#define AT(member) offsetof(struct arguments, member)
#define FIELD_OF_TASK                                                          \
  { "task", FIELD_TEXT, true, AT(task), 1, 128, NULL }
#define FIELD_OF_PATH(required)                                                \
  { "path", FIELD_TEXT, required, AT(path), 0, 4096, NULL }

static const struct field execute_fields[] = {
    FIELD_OF_TASK,
    {"code", FIELD_CODE, true, AT(code), 0, 0, NULL},
    {"timeout", FIELD_NUMBER, false, AT(timeout), 0, 1e9, NULL},
    {"section", FIELD_TEXT, false, AT(section), 1, 200, NULL}};
static const struct field result_fields[] = {
    {"run", FIELD_TEXT, true, AT(run), 36, 36, NULL},
    {"wait", FIELD_NUMBER, false, AT(wait), -1, 45, NULL}};
static const struct field files_fields[] = {FIELD_OF_TASK,
                                            FIELD_OF_PATH(false)};
static const struct field read_fields[] = {FIELD_OF_TASK, FIELD_OF_PATH(true)};
static const struct field write_fields[] = {
    FIELD_OF_TASK,
    FIELD_OF_PATH(true),
    {"text", FIELD_CODE, false, AT(code), 0, 0, NULL},
    {"base64", FIELD_CODE, false, AT(base64), 0, 0, NULL}};
static const struct field restart_fields[] = {
    FIELD_OF_TASK, {"replay", FIELD_BOOLEAN, false, AT(replay), 0, 0, NULL}};
static const struct field interrupt_fields[] = {FIELD_OF_TASK};

/* *ret stays NULL when the tool has answered by itself. */
typedef int tool(struct mcp *mcp, const struct arguments *arguments,
                 struct json **ret, struct err *err);

static int execute(struct mcp *mcp, const struct arguments *arguments,
                   struct json **ret, struct err *err) {
  struct call *call = mcp->call;
  CLEANUP(accepted_done) struct accepted *accepted = NULL;
  struct run_request request = {.task = arguments->task,
                                .code = arguments->code.bytes,
                                .code_length = arguments->code.length,
                                .timeout = arguments->timeout,
                                .section = arguments->section,
                                .caller = call->caller.name,
                                .address = call->caller.address,
                                .request_id = call->request->id};
  (void)ret;
  if (call_take_run(call, arguments->task, err) < 0 ||
      accept_run(call->engine, &request, &accepted, err) < 0)
    return -1;
  atomic_fetch_add(&call->service->metrics.runs, 1);
  log_set_run(accepted_id(accepted));
  await_run(mcp, accepted);
  call_give_place(call);
  return 0;
}

static bool is_open(const struct json *run) {
  const char *status = json_get_text(run, "status");
  return status != NULL &&
         (strcmp(status, "queued") == 0 || strcmp(status, "running") == 0);
}

static int wait_for_result(struct mcp *mcp, const struct arguments *arguments,
                           struct json **ret, struct err *err) {
  CLEANUP(json_done) struct json *run = NULL;
  if (!id_is_uuid(arguments->run))
    return err_set(err, ERR_FIELD,
                   "\"%.40s\" is no run id; `execute` gives one",
                   arguments->run);
  if (arguments->wait > 0 && call_take_place(mcp->call, err) < 0)
    return -1;
  int result =
      await_end(mcp->call->engine, arguments->run, arguments->wait, &run, err);
  call_give_place(mcp->call);
  if (result < 0)
    return -1;
  *ret = is_open(run) ? content_of_unfinished(run)
                      : content_of_run(run, CONTENT_IMAGES_JSON);
  return 0;
}

static void write_entry(const struct json *entry, struct buf *text) {
  const char *kind = json_get_text(entry, "kind");
  if (kind != NULL && strcmp(kind, "directory") == 0)
    buf_format(text, "%s/\n", json_get_text(entry, "name"));
  else
    buf_format(text, "%s  (%s, %lld bytes)\n", json_get_text(entry, "name"),
               json_get_text(entry, "mime"),
               (long long)json_get_integer(entry, "bytes", 0));
}

static int list_files(struct mcp *mcp, const struct arguments *arguments,
                      struct json **ret, struct err *err) {
  enum { MOST = 500 };
  CLEANUP(json_done) struct json *listed = NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  const struct files_query query = {.path = arguments->path, .limit = MOST};
  if (files_list(mcp->call->engine, arguments->task, &query, &listed, err) < 0)
    return -1;
  const struct json *entries = json_get(listed, "entries");
  for (size_t i = 0; i < json_length(entries); i++)
    write_entry(json_at(entries, i), &text);
  if (json_get_text(listed, "next") != NULL)
    buf_text(&text, "… and more; name a subdirectory as `path`.\n");
  *ret = content_of_text(
      text.length == 0 ? "The directory is empty." : buf_string(&text), false);
  return 0;
}

/* What a model can read of a file: its text, the picture, or that it is there.
 */
static struct json *show_file(const struct arguments *arguments,
                              const char *mime, const struct buf *bytes) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  CLEANUP(mem_free_pointer)
  char *path = mem_format("files/%s", arguments->path);
  if (content_is_visible(mime) && bytes->length < CONTENT_IMAGES_JSON / 4 * 3 &&
      crypto_base64_encode(buf_string(bytes), bytes->length, &text) == 0) {
    struct json *result = content_of_text(arguments->path, false);
    json_push(json_get(result, "content"),
              content_image(mime, buf_string(&text)));
    return result;
  }
  if (utf8_is_valid(buf_string(bytes), bytes->length) &&
      memchr(buf_string(bytes), '\0', bytes->length) == NULL)
    return content_of_text(buf_string(bytes), false);
  buf_format(&text, "%s is no text: %s, %zu bytes. Read it in a cell.",
             arguments->path, mime, bytes->length);
  struct json *result = content_of_text(buf_string(&text), false);
  json_push(json_get(result, "content"),
            content_link(arguments->task, path, mime, (int64_t)bytes->length));
  return result;
}

static int read_file(struct mcp *mcp, const struct arguments *arguments,
                     struct json **ret, struct err *err) {
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(FILES_READ_MOST);
  CLEANUP(mem_free_pointer)
  char *path = mem_format("files/%s", arguments->path);
  char mime[MIME_SIZE];
  if (files_read(mcp->call->engine, arguments->task, path, &bytes, mime, err) <
      0)
    return -1;
  *ret = show_file(arguments, mime, &bytes);
  return 0;
}

static int write_file(struct mcp *mcp, const struct arguments *arguments,
                      struct json **ret, struct err *err) {
  CLEANUP(buf_free) struct buf decoded = BUF_INIT(BUF_REQUEST_BODY);
  CLEANUP(json_done) struct json *entry = NULL;
  const char *bytes = arguments->code.bytes;
  size_t length = arguments->code.length;
  if ((bytes == NULL) == (arguments->base64.bytes == NULL))
    return err_set(err, ERR_FIELD, "give either `text` or `base64`");
  if (bytes == NULL) {
    if (crypto_base64_decode(arguments->base64.bytes, arguments->base64.length,
                             &decoded) < 0)
      return err_set(err, ERR_FIELD, "`base64` is no base64 (RFC 4648)");
    bytes = buf_string(&decoded);
    length = decoded.length;
  }
  const struct caller *caller = &mcp->call->caller;
  if (caller->quota.file_bytes != 0 &&
      files_tenant_check(mcp->call->engine, caller->rights.tenant,
                         caller->quota.file_bytes, (int64_t)length, err) < 0)
    return -1;
  int made = files_put(mcp->call->engine, arguments->task, arguments->path,
                       mcp->call->caller.name, bytes, length, &entry,
                       &mcp->call->details, err);
  if (made < 0)
    return -1;
  call_note_file(mcp->call, "file.put", arguments->task, arguments->path,
                 (int64_t)length);
  CLEANUP(mem_free_pointer)
  char *text =
      mem_format("%s /work/%s, %zu bytes.", made == 1 ? "Wrote" : "Replaced",
                 arguments->path, length);
  *ret = content_of_text(text, false);
  return 0;
}

static int restart(struct mcp *mcp, const struct arguments *arguments,
                   struct json **ret, struct err *err) {
  struct call *call = mcp->call;
  CLEANUP(json_done) struct json *answer = NULL;
  if (call_take_place(call, err) < 0)
    return -1;
  int result = arguments->replay
                   ? admin_replay_task(call->engine, arguments->task,
                                       call->caller.name, &answer, err)
                   : admin_restart_task(call->engine, arguments->task,
                                        call->caller.name, &answer, err);
  call_give_place(call);
  if (result < 0)
    return -1;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  buf_text(&text, arguments->replay
                      ? "The task has a new kernel; its successful cells ran "
                        "again. What came of it: "
                      : "The task has a new kernel. All variables are gone, "
                        "files are as they were.");
  if (arguments->replay)
    json_write(json_get(answer, "replay"), &text);
  *ret = content_of_text(buf_string(&text), false);
  return 0;
}

static int interrupt(struct mcp *mcp, const struct arguments *arguments,
                     struct json **ret, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  if (admin_interrupt_task(mcp->call->engine, arguments->task,
                           mcp->call->caller.name, &answer, err) < 0)
    return -1;
  *ret = content_of_text(json_get_text(answer, "interrupted") == NULL
                             ? "No cell was running."
                             : "The running cell was interrupted. Its output "
                               "is in its result; variables are kept.",
                         false);
  return 0;
}

static const struct {
  const char *name;
  tool *run;
  const struct field *fields;
  size_t count;
  unsigned scope; /* that the caller needs */
  bool makes;     /* the task, when it is missing */
} tools[] = {
    {"execute", execute, execute_fields, COUNT_OF(execute_fields), SCOPE_RUN,
     true},
    {"result", wait_for_result, result_fields, COUNT_OF(result_fields),
     SCOPE_READ, false},
    {"files", list_files, files_fields, COUNT_OF(files_fields), SCOPE_READ,
     false},
    {"read_file", read_file, read_fields, COUNT_OF(read_fields), SCOPE_READ,
     false},
    {"write_file", write_file, write_fields, COUNT_OF(write_fields), SCOPE_RUN,
     true},
    {"restart", restart, restart_fields, COUNT_OF(restart_fields), SCOPE_RUN,
     false},
    {"interrupt", interrupt, interrupt_fields, COUNT_OF(interrupt_fields),
     SCOPE_RUN, false},
};

static int read_arguments(const struct json *object, size_t at,
                          struct arguments *ret, struct err *err) {
  CLEANUP(json_done) struct json *empty = json_object();
  *ret = (struct arguments){.path = "", .timeout = -1, .wait = 30};
  if (fields_read(object == NULL ? empty : object, tools[at].fields,
                  tools[at].count, ret, NULL, err) < 0)
    return -1;
  if (ret->task != NULL && !id_is_task(ret->task))
    return err_set(err, ERR_FIELD,
                   "\"%.128s\" is no task id: 1 to 128 of A-Z a-z 0-9 . _ -, "
                   "a letter or digit first, no ..",
                   ret->task);
  return 0;
}

/* As the routes of /v1 do: the scope, then the task or the run. */
static int check_caller(struct call *call, size_t at,
                        const struct arguments *arguments, struct err *err) {
  bool makes = tools[at].makes && call->conf->auto_create;
  if (call_check_scope(call, tools[at].scope, err) < 0 ||
      (arguments->task != NULL &&
       call_check_task(call, arguments->task, makes, err) < 0))
    return -1;
  return arguments->run == NULL || !id_is_uuid(arguments->run)
             ? 0
             : call_check_run(call, arguments->run, err);
}

/* Which one it is that is not there. */
static void name_missing(const struct arguments *arguments, struct err *err) {
  if (err->kind == ERR_NOT_FOUND && arguments->run != NULL)
    err_wrap(err, "run %.40s", arguments->run);
  else if (err->kind == ERR_NOT_FOUND && arguments->task != NULL)
    err_wrap(err, "task \"%.128s\"%s%.300s", arguments->task,
             *arguments->path == '\0' ? "" : ", ", arguments->path);
}

/* What a model gets wrong it can mend: that is a result, not a fault of the
 * protocol (SEP-1303). */
int mcp_call_tool(struct mcp *mcp, struct json **ret, struct rpc_fault *fault) {
  const char *name = json_get_text(mcp->message.params, "name");
  const struct json *given = json_get(mcp->message.params, "arguments");
  struct arguments arguments;
  struct err err;
  size_t at = 0;
  while (name != NULL && at < COUNT_OF(tools) &&
         strcmp(tools[at].name, name) != 0)
    at++;
  if (name == NULL || at == COUNT_OF(tools))
    return rpc_fail(fault, mcp->message.modern, RPC_INVALID_PARAMS,
                    "there is no tool \"%.100s\"", name == NULL ? "" : name);
  if (given != NULL && json_kind(given) != JSON_OBJECT)
    return rpc_fail(fault, mcp->message.modern, RPC_INVALID_PARAMS,
                    "params.arguments is no object");
  if (read_arguments(given, at, &arguments, &err) < 0 ||
      check_caller(mcp->call, at, &arguments, &err) < 0 ||
      tools[at].run(mcp, &arguments, ret, &err) < 0) {
    name_missing(&arguments, &err);
    *ret = content_of_text(err.text, true);
  }
  return 0;
}

int mcp_tools(struct json **ret, struct err *err) {
  const struct embedded_file *file = embedded_find("fcgi/mcp/tools.json");
  return json_parse(file->text, file->length, &JSON_RULES_STORE, ret, err);
}

int mcp_list_tools(struct mcp *mcp, struct json **ret,
                   struct rpc_fault *fault) {
  struct json *list = NULL;
  struct err err;
  if (mcp_tools(&list, &err) < 0)
    return rpc_fail(fault, mcp->message.modern, RPC_INTERNAL, "%s", err.text);
  *ret = json_object();
  json_set(*ret, "tools", list);
  return 0;
}
