#include "core/run/trail.h"

#include <string.h>

#include "core/base/clock.h"

static bool joins(const struct json *last, const char *type,
                  const struct json *content) {
  if (last == NULL || strcmp(type, "stream") != 0)
    return false;
  const char *last_type = json_get_text(last, "type");
  const char *last_name = json_get_text(json_get(last, "content"), "name");
  const char *name = json_get_text(content, "name");
  return last_type != NULL && strcmp(last_type, "stream") == 0 &&
         last_name != NULL && name != NULL && strcmp(last_name, name) == 0;
}

static struct json *joined(const struct json *last,
                           const struct json *content) {
  const struct json *before = json_get(json_get(last, "content"), "text");
  const struct json *after = json_get(content, "text");
  struct buf text = BUF_INIT(2 * TRAIL_BATCH_BYTES);
  buf_append(&text, json_text(before), json_text_length(before));
  buf_append(&text, json_text(after), json_text_length(after));
  struct json *value = json_string_n(buf_string(&text), text.length);
  buf_free(&text);
  return value;
}

void run_trail_add(struct run_trail *trail, const char *type,
                   const struct json *content) {
  if (trail->messages == NULL)
    trail->messages = json_array();
  if (trail->flush_at == 0)
    trail->flush_at = clock_monotonic_ns() + TRAIL_INTERVAL_NS;
  struct buf size = BUF_INIT(TRAIL_BATCH_BYTES - trail->bytes);
  bool fits = json_write(content, &size) == 0;
  size_t bytes = size.length;
  buf_free(&size);
  if (!fits) {
    trail->left_out++;
    return;
  }
  trail->bytes += bytes;
  size_t count = json_length(trail->messages);
  const struct json *last =
      count == 0 ? NULL : json_at(trail->messages, count - 1);
  if (joins(last, type, content)) {
    json_set(json_get(last, "content"), "text", joined(last, content));
    return;
  }
  struct json *message = json_object();
  json_set_text(message, "type", type);
  json_set(message, "content", json_copy(content));
  json_push(trail->messages, message);
}

bool run_trail_take(struct run_trail *trail, char *task, char *run,
                    struct event_record *event) {
  if (trail->messages == NULL)
    return false;
  struct json *content = json_object();
  json_set(content, "messages", trail->messages);
  if (trail->left_out > 0)
    json_set_integer(content, "left_out", trail->left_out);
  static char kind[] = "run.output";
  *event = (struct event_record){.at = clock_wall_us(),
                                 .task = task,
                                 .run = run,
                                 .kind = kind,
                                 .content = content};
  *trail = (struct run_trail){0};
  return true;
}

void run_trail_done(struct run_trail *trail) {
  json_free(trail->messages);
  *trail = (struct run_trail){0};
}
