#include "core/jupyter/client.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

void execution_free(struct execution *execution) {
  json_free(execution->page);
  json_free(execution->notes);
  json_free(execution->user_expressions);
  json_free(execution->error);
  *execution = (struct execution){.execution_count = -1};
}

int client_execute(struct channel *channel, const char *code, size_t length,
                   const struct execute_options *options, struct execution *ret,
                   struct err *err) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "code", json_string_n(code, length));
  json_set_boolean(content, "silent", options->silent);
  json_set_boolean(content, "store_history", options->store_history);
  json_set(content, "user_expressions",
           options->user_expressions == NULL
               ? json_object()
               : json_share(options->user_expressions));
  json_set_boolean(content, "allow_stdin", options->allow_stdin);
  json_set_boolean(content, "stop_on_error", false);
  char id[WIRE_ID_SIZE];
  if (channel_send(channel, CHANNEL_SHELL, "execute_request", content, NULL,
                   NULL, id, err) < 0)
    return -1;
  *ret = (struct execution){.execution_count = -1};
  memcpy(ret->id, id, sizeof id);
  return 0;
}

static bool is(const char *text, const char *other) {
  return text != NULL && strcmp(text, other) == 0;
}

static void replace(struct json **place, struct json *value) {
  json_free(*place);
  *place = value;
}

/* Only what the protocol knows, each of its right kind: some kernels add keys,
 * some leave them out. */
static struct json *error_of(const struct json *content) {
  static const char *const names[] = {"ename", "evalue"};
  struct json *error = json_object();
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    const struct json *text = json_get(content, names[i]);
    json_set(error, names[i],
             json_text(text) == NULL ? json_string("") : json_share(text));
  }
  struct json *lines = json_array();
  const struct json *traceback = json_get(content, "traceback");
  for (size_t i = 0; i < json_length(traceback); i++)
    if (json_text(json_at(traceback, i)) != NULL)
      json_push(lines, json_share(json_at(traceback, i)));
  json_set(error, "traceback", lines);
  return error;
}

static void observe_payload(struct execution *execution,
                            const struct json *payload) {
  for (size_t i = 0; i < json_length(payload); i++) {
    const struct json *item = json_at(payload, i);
    const char *source = json_get_text(item, "source");
    const struct json *data = json_get(item, "data");
    if (is(source, "ask_exit"))
      execution->ask_exit =
          !json_as_boolean(json_get(item, "keepkernel"), false);
    else if (is(source, "page") && json_kind(data) == JSON_OBJECT)
      replace(&execution->page, json_share(data));
    else if (is(source, "cellpost"))
      replace(&execution->notes, json_share(json_get(item, "notes")));
  }
}

/* A reply without a status is one of success unless it carries an error. */
static void observe_reply(struct execution *execution,
                          const struct json *content) {
  const char *status = json_get_text(content, "status");
  execution->replied = true;
  execution->reply_at_us = clock_wall_us();
  execution->replied_at_ns = clock_monotonic_ns();
  execution->aborted = is(status, "aborted") || is(status, "abort");
  execution->failed = status == NULL ? json_has(content, "ename")
                                     : strcmp(status, "error") == 0;
  if (execution->execution_count < 0 && !execution->aborted)
    execution->execution_count =
        json_get_integer(content, "execution_count", -1);
  if (execution->failed)
    replace(&execution->error, error_of(content));
  const struct json *values = json_get(content, "user_expressions");
  if (json_kind(values) == JSON_OBJECT)
    replace(&execution->user_expressions, json_share(values));
  observe_payload(execution, json_get(content, "payload"));
}

static bool is_output(const char *type) {
  static const char *const types[] = {
      "stream",    "display_data", "execute_result",
      "error",     "clear_output", "update_display_data",
      "comm_open", "comm_msg",     "comm_close",
  };
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strcmp(type, types[i]) == 0)
      return true;
  return false;
}

static void observe_status(struct execution *execution, const char *state) {
  if (is(state, "busy")) {
    execution->busy_at_us = clock_wall_us();
  } else if (is(state, "idle")) {
    execution->idle = true;
    execution->idle_at_us = clock_wall_us();
  }
}

static void observe_input(struct execution *execution,
                          const struct json *content) {
  int64_t count = json_get_integer(content, "execution_count", -1);
  if (count >= 0)
    execution->execution_count = count;
  execution->input_at_us = clock_wall_us();
}

static enum client_event observe_iopub(struct execution *execution, bool ours,
                                       const struct message *message) {
  if (is_output(message->type))
    return ours ? CLIENT_OUTPUT : CLIENT_FOREIGN;
  if (ours && is(message->type, "status"))
    observe_status(execution,
                   json_get_text(message->content, "execution_state"));
  else if (ours && is(message->type, "execute_input"))
    observe_input(execution, message->content);
  return CLIENT_NOTHING;
}

/* An input_request without a parent is ours, too: the kernel sends it to the
 * one client that it is running something for. */
enum client_event client_observe(struct execution *execution,
                                 enum channel_name from,
                                 const struct message *message) {
  bool ours = strcmp(message->parent_id, execution->id) == 0;
  switch (from) {
  case CHANNEL_IOPUB:
    return observe_iopub(execution, ours, message);
  case CHANNEL_SHELL:
    if (ours && is(message->type, "execute_reply"))
      observe_reply(execution, message->content);
    return CLIENT_NOTHING;
  case CHANNEL_STDIN:
    if (is(message->type, "input_request") &&
        (ours || *message->parent_id == '\0'))
      return CLIENT_INPUT;
    return CLIENT_NOTHING;
  case CHANNEL_CONTROL:
  case CHANNEL_HEARTBEAT:
  case CHANNEL_COUNT:
  default:
    return CLIENT_NOTHING;
  }
}

int client_input(struct channel *channel, const struct message *request,
                 const char *text, struct err *err) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "value", text == NULL ? "\x04" : text);
  return channel_send(channel, CHANNEL_STDIN, "input_reply", content, NULL,
                      request->header, NULL, err);
}

int client_nudge(struct channel *channel, struct err *err) {
  return channel_send(channel, CHANNEL_SHELL, "kernel_info_request", NULL, NULL,
                      NULL, NULL, err);
}

int client_interrupt(struct channel *channel, struct err *err) {
  return channel_send(channel, CHANNEL_CONTROL, "interrupt_request", NULL, NULL,
                      NULL, NULL, err);
}

int client_shutdown(struct channel *channel, bool restart, struct err *err) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_boolean(content, "restart", restart);
  return channel_send(channel, CHANNEL_CONTROL, "shutdown_request", content,
                      NULL, NULL, NULL, err);
}

int client_close_comm(struct channel *channel, const struct message *open,
                      struct err *err) {
  const struct json *id = json_get(open->content, "comm_id");
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "comm_id", json_share(id));
  json_set(content, "data", json_object());
  return channel_send(channel, CHANNEL_SHELL, "comm_close", content, NULL,
                      open->header, NULL, err);
}
