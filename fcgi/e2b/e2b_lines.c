#include "fcgi/e2b/e2b_lines.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

static const char *const members[][2] = {
    {"text/plain", "text"},        {"text/html", "html"},
    {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
    {"image/png", "png"},          {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},    {"text/latex", "latex"},
    {"application/json", "json"},  {"application/javascript", "javascript"},
};

static const char *member_of(const char *mime) {
  for (size_t i = 0; i < COUNT_OF(members); i++)
    if (strcmp(members[i][0], mime) == 0)
      return members[i][1];
  return NULL;
}

/* 'a' as a: E2B takes one pair of quotes off, and programs compare with that.
 */
static struct json *unquoted(const struct json *value) {
  const char *text = json_text(value);
  size_t length = json_text_length(value);
  if (text == NULL || length < 2 || (*text != '\'' && *text != '"') ||
      text[length - 1] != *text)
    return json_share(value);
  return json_string_n(text + 1, length - 2);
}

struct json *e2b_lines_result(const struct json *data, bool is_main) {
  struct json *result = json_object(), *extra = json_object();
  void *state = NULL;
  const char *mime;
  struct json *value;
  json_set_text(result, "type", "result");
  json_set_boolean(result, "is_main_result", is_main);
  while (json_next(data, &state, &mime, &value)) {
    const char *member = member_of(mime);
    bool fits = member != NULL && (strcmp(member, "json") != 0 ||
                                   json_kind(value) == JSON_OBJECT);
    if (!fits)
      json_set(extra, mime, json_share(value));
    else
      json_set(result, member,
               strcmp(member, "text") == 0 ? unquoted(value)
                                           : json_share(value));
  }
  json_set(result, "extra", extra);
  return result;
}

static struct json *typed(const char *type) {
  struct json *line = json_object();
  json_set_text(line, "type", type);
  return line;
}

static struct json *stream_line(const struct json *content) {
  const char *name = json_get_text(content, "name");
  bool is_error = name != NULL && strcmp(name, "stderr") == 0;
  struct json *line = typed(is_error ? "stderr" : "stdout");
  json_set(line, "text", json_share(json_get(content, "text")));
  json_set_integer(line, "timestamp", clock_wall_us() * 1000);
  return line;
}

static struct json *error_line(const char *name, const char *value,
                               const struct json *traceback) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  struct json *line = typed("error");
  for (size_t i = 0; i < json_length(traceback); i++) {
    const char *part = json_text(json_at(traceback, i));
    buf_format(&text, "%s%s", i == 0 ? "" : "\n", part == NULL ? "" : part);
  }
  json_set_text(line, "name", name == NULL ? "" : name);
  json_set_text(line, "value", value == NULL ? "" : value);
  json_set_text(line, "traceback", buf_string(&text));
  return line;
}

static int write_line(struct json *line, struct buf *out) {
  CLEANUP(json_done) struct json *owned = line;
  size_t before = out->length;
  if (json_write(owned, out) == 0 && buf_byte(out, '\n') == 0)
    return 0;
  buf_truncate(out, before);
  return -1;
}

/* The kernel tells errors of the code by itself. */
static bool is_told(const char *status) {
  return status == NULL || strcmp(status, "ok") == 0 ||
         strcmp(status, "error") == 0;
}

static int write_answer(const struct json *answer, struct buf *out) {
  const struct json *error = json_get(answer, "error");
  const char *status = json_get_text(answer, "status");
  struct json *count = typed("number_of_executions");
  json_set(count, "execution_count",
           json_share(json_get(answer, "execution_count")));
  int result = write_line(count, out);
  if (!is_told(status)) {
    const char *name = json_get_text(error, "ename");
    const char *value = json_get_text(error, "evalue");
    result |= write_line(
        error_line(name == NULL ? status : name,
                   value == NULL ? json_get_text(answer, "text") : value,
                   json_get(error, "traceback")),
        out);
  }
  return result | write_line(typed("end_of_execution"), out);
}

static int frame(const char *type, const struct json *content,
                 struct buf *out) {
  if (strcmp(type, "stream") == 0)
    return write_line(stream_line(content), out);
  if (strcmp(type, "execute_result") == 0)
    return write_line(e2b_lines_result(json_get(content, "data"), true), out);
  if (strcmp(type, "display_data") == 0 ||
      strcmp(type, "update_display_data") == 0)
    return write_line(e2b_lines_result(json_get(content, "data"), false), out);
  if (strcmp(type, "error") == 0)
    return write_line(error_line(json_get_text(content, "ename"),
                                 json_get_text(content, "evalue"),
                                 json_get(content, "traceback")),
                      out);
  if (strcmp(type, "keepalive") == 0)
    return write_line(typed("keepalive"), out);
  return strcmp(type, "answer") == 0 ? write_answer(content, out) : 0;
}

const struct stream_form e2b_lines_form = {"application/x-ndjson", frame};
