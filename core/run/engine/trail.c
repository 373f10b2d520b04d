#include "core/run/engine/trail.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

void trail_begin(struct trail *trail, int64_t now) { trail->taken_at = now; }

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

/* When the batch that begins now is due: at once after a silence, else an
 * interval after the one before. */
static int64_t due(const struct trail *trail, int64_t now) {
  int64_t soon = now + TRAIL_GATHER_NS;
  int64_t next = trail->taken_at + TRAIL_INTERVAL_NS;
  return next > soon ? next : soon;
}

void trail_add(struct trail *trail, const char *type,
               const struct json *content, int64_t now) {
  trail->end++;
  if (trail->messages == NULL)
    trail->messages = json_array();
  if (trail->flush_at == 0)
    trail->flush_at = due(trail, now);
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

void trail_cut(struct trail *trail) {
  if (trail->messages == NULL)
    return;
  struct json *content = json_object();
  json_set(content, "messages", MEM_STEAL(trail->messages));
  json_set_integer(content, "end", trail->end);
  if (trail->left_out > 0)
    json_set_integer(content, "left_out", trail->left_out);
  if (trail->closed == NULL)
    trail->closed = json_array();
  json_push(trail->closed, content);
  trail->bytes = 0;
  trail->left_out = 0;
}

size_t trail_take(struct trail *trail, char *task, char *run, int64_t now,
                  struct event_record **events) {
  static char kind[] = "run.output";
  trail_cut(trail);
  size_t count = json_length(trail->closed);
  *events = mem_array(count, sizeof **events);
  for (size_t i = 0; i < count; i++)
    (*events)[i] =
        (struct event_record){.at = clock_wall_us(),
                              .task = task,
                              .run = run,
                              .kind = kind,
                              .content = json_share(json_at(trail->closed, i))};
  json_done(&trail->closed);
  trail->taken = trail->end;
  trail->taken_at = now;
  trail->flush_at = 0;
  return count;
}

static void drop_messages(struct json *content) {
  int64_t count = (int64_t)json_length(json_get(content, "messages"));
  count += json_get_integer(content, "left_out", 0);
  json_set(content, "messages", json_array());
  json_set_integer(content, "left_out", count);
}

void trail_put_back(struct trail *trail, const struct event_record *events,
                    size_t count, int64_t flush_at) {
  struct json *whole = json_array();
  for (size_t i = 0; i < count; i++) {
    struct json *content = json_share(events[i].content);
    if (i >= TRAIL_HELD_BYTES / TRAIL_BATCH_BYTES)
      drop_messages(content);
    json_push(whole, content);
  }
  for (size_t i = 0; i < json_length(trail->closed); i++)
    json_push(whole, json_share(json_at(trail->closed, i)));
  json_free(trail->closed);
  trail->closed = whole;
  trail->flush_at = flush_at;
}

void trail_events_free(struct event_record *events, size_t count) {
  for (size_t i = 0; i < count; i++)
    json_free(events[i].content);
  free(events);
}

void trail_note_recorded(struct trail *trail) {
  trail->recorded = trail->taken;
}

void trail_done(struct trail *trail) {
  json_done(&trail->messages);
  json_done(&trail->closed);
  *trail = (struct trail){0};
}
