/* envd's commands: a cell that stands in no notebook runs the program, and what
 * it says goes out in the frames of Connect's streams (connectrpc.com,
 * "Protocol reference": a byte of flags, four of length, JSON). */
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "embedded.h"
#include "fcgi/e2b/e2b.h"
#include "fcgi/e2b/e2b_path.h"

#define EXIT "application/vnd.cellpost.exit+json"
#define LAST 2 /* flag of the last frame */

static int write_frame(unsigned char flags, const struct json *message,
                       struct buf *out) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  size_t before = out->length;
  if (json_write(message, &text) < 0 || text.length > UINT32_MAX)
    return -1;
  unsigned char head[5] = {flags, (unsigned char)(text.length >> 24),
                           (unsigned char)(text.length >> 16),
                           (unsigned char)(text.length >> 8),
                           (unsigned char)text.length};
  if (buf_append(out, head, sizeof head) == 0 &&
      buf_append(out, buf_string(&text), text.length) == 0)
    return 0;
  buf_truncate(out, before);
  return -1;
}

/* {"event": {name: content}} */
static int write_event(const char *name, struct json *content,
                       struct buf *out) {
  CLEANUP(json_done) struct json *message = json_object();
  struct json *event = json_object();
  json_set(event, name, content);
  json_set(message, "event", event);
  return write_frame(0, message, out);
}

static int write_data(const struct json *content, struct buf *out) {
  CLEANUP(buf_free) struct buf encoded = BUF_INIT(BUF_ANSWER);
  const struct json *text = json_get(content, "text");
  const char *name = json_get_text(content, "name");
  struct json *data = json_object();
  crypto_base64_encode(json_text(text) == NULL ? "" : json_text(text),
                       json_text_length(text), &encoded);
  json_set_text(data, name == NULL ? "stdout" : name, buf_string(&encoded));
  return write_event("data", data, out);
}

static int write_start(struct buf *out) {
  struct json *start = json_object();
  json_set_integer(start, "pid", 1);
  return write_event("start", start, out);
}

static int write_end(int64_t status, struct buf *out) {
  struct json *end = json_object();
  bool exited = status >= 0;
  CLEANUP(mem_free_pointer)
  char *text = exited ? mem_format("exit status %lld", (long long)status)
                      : mem_format("signal %lld", (long long)-status);
  json_set_integer(end, "exitCode", exited ? status : 128 - status);
  json_set_boolean(end, "exited", exited);
  json_set_text(end, "status", text);
  return write_event("end", end, out);
}

/* Nobody told an exit status: why, for the client's exception. */
static int write_last(const struct json *answer, struct buf *out) {
  CLEANUP(json_done) struct json *message = json_object();
  const char *status = json_get_text(answer, "status");
  if (status == NULL || strcmp(status, "ok") != 0) {
    struct json *error = json_object();
    const char *why = json_get_text(json_get(answer, "error"), "evalue");
    json_set_text(error, "code", "unavailable");
    json_set_text(error, "message", why == NULL ? "the run did not end" : why);
    json_set(message, "error", error);
  }
  return write_frame(LAST, message, out);
}

static int frame(const char *type, const struct json *content,
                 struct buf *out) {
  if (strcmp(type, "run") == 0)
    return write_start(out);
  if (strcmp(type, "stream") == 0)
    return write_data(content, out);
  if (strcmp(type, "keepalive") == 0)
    return write_event("keepalive", json_object(), out);
  if (strcmp(type, "answer") == 0)
    return write_last(content, out);
  const struct json *exit = json_get(json_get(content, "data"), EXIT);
  if (strcmp(type, "display_data") != 0 || exit == NULL)
    return 0;
  return write_end(json_get_integer(exit, "status", 0), out);
}

static const struct stream_form commands = {"application/connect+json", frame};

/* The one message of the request, out of its frame. */
static int read_message(const struct buf *body, struct json **ret,
                        struct err *err) {
  const unsigned char *head = (const unsigned char *)buf_string(body);
  if (body->length < 5 || head[0] != 0)
    return err_set(err, ERR_INVALID, "the body is no message of Connect");
  size_t length = (size_t)head[1] << 24 | (size_t)head[2] << 16 |
                  (size_t)head[3] << 8 | head[4];
  if (length > body->length - 5)
    return err_set(err, ERR_INVALID, "the message is cut short");
  return json_parse(buf_string(body) + 5, length, &JSON_RULES_REQUEST, ret,
                    err);
}

static bool is_word(const struct json *value) {
  const char *text = json_text(value);
  return text != NULL && strlen(text) == json_text_length(value);
}

/* {"argv", "env", "cwd"} of the process that is asked for. */
static int read_process(const struct json *message, struct json **ret,
                        struct err *err) {
  const struct json *process = json_get(message, "process");
  const char *command = json_get_text(process, "cmd");
  const char *directory = json_get_text(process, "cwd");
  const struct json *arguments = json_get(process, "args");
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  if (command == NULL)
    return err_set(err, ERR_INVALID, "process.cmd is missing");
  if (json_has(message, "pty"))
    return err_set(err, ERR_INVALID, "terminals (pty) are not offered");
  for (size_t i = 0; i < json_length(arguments); i++)
    if (!is_word(json_at(arguments, i)))
      return err_set(err, ERR_INVALID,
                     "process.args must be texts without NUL");
  if (json_kind(arguments) == JSON_OBJECT)
    return err_set(err, ERR_INVALID, "process.args must be a list");
  if (directory != NULL && e2b_path_read(directory, &path, err) < 0)
    return -1;
  struct json *argv = json_array(), *given = json_object();
  const struct json *variables = json_get(process, "envs");
  json_push(argv, json_string(command));
  for (size_t i = 0; i < json_length(arguments); i++)
    json_push(argv, json_share(json_at(arguments, i)));
  json_set(given, "argv", argv);
  json_set(given, "env",
           json_kind(variables) == JSON_OBJECT ? json_copy(variables)
                                               : json_object());
  json_set_text(given, "cwd", buf_string(&path)); /* beneath the kernel's */
  *ret = given;
  return 0;
}

int e2b_start_process(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *message = NULL;
  CLEANUP(json_done) struct json *given = NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_REQUEST_BODY);
  CLEANUP(buf_free) struct buf code = BUF_INIT(BUF_REQUEST_BODY);
  if (e2b_sandbox(call, err) < 0 ||
      read_message(&call->request->body, &message, err) < 0 ||
      read_process(message, &given, err) < 0)
    return -1;
  const struct embedded_file *program = embedded_find("fcgi/e2b/process.py");
  json_write(given, &text);
  buf_text(&code, "(lambda place: (exec(");
  json_write_string(program->text, program->length, &code);
  buf_text(&code, ", place), place['run'](__import__('json').loads(");
  json_write_string(buf_string(&text), text.length, &code);
  buf_text(&code, "))))({});");
  return e2b_run(call, buf_string(&code), code.length, true, &commands, err);
}

int e2b_list_processes(struct call *call, struct err *err) {
  if (e2b_sandbox(call, err) < 0)
    return -1;
  call->answer = json_object();
  json_set(call->answer, "processes", json_array());
  return 200;
}
