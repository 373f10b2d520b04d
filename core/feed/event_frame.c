#include "core/feed/event_frame.h"

#include <string.h>

#include "core/base/clock.h"

static int add_text(const char *key, const char *text, struct buf *out) {
  if (buf_format(out, ",\"%s\":", key) != 0)
    return -1;
  return text == NULL ? buf_text(out, "null")
                      : json_write_string(text, strlen(text), out);
}

/* A line break in JSON is white space, or it would be escaped. It must not end
 * the line of data that the JSON stands in. */
static void join_lines(char *text) {
  for (; *text != '\0'; text++)
    if (*text == '\n' || *text == '\r')
      *text = ' ';
}

static int undo(struct buf *out, size_t before, int result) {
  if (result != 0)
    buf_truncate(out, before);
  return result == 0 ? 0 : -1;
}

int event_frame_object(const struct event_text *event, struct buf *out) {
  size_t before = out->length;
  char at[CLOCK_ISO_SIZE];
  clock_format_iso(event->at, at);
  int result =
      buf_format(out, "{\"id\":%lld,\"at\":\"%s\"", (long long)event->id, at);
  result |= add_text("task", event->task, out);
  result |= add_text("run", event->run, out);
  result |= add_text("kind", event->kind, out);
  result |= buf_text(out, ",\"content\":");
  result |= buf_text(out, event->content);
  result |= buf_text(out, "}");
  if (result == 0)
    join_lines(out->data + before);
  return undo(out, before, result);
}

/* The kind in a line of its own. */
static int add_type(const char *kind, struct buf *out) {
  return buf_format(out, "event: %.*s\n", (int)strcspn(kind, "\r\n"), kind);
}

int event_frame(const struct event_text *event, struct buf *out) {
  size_t before = out->length;
  int result = buf_format(out, "id: %lld\n", (long long)event->id);
  result |= add_type(event->kind, out);
  result |= buf_text(out, "data: ");
  result |= event_frame_object(event, out);
  result |= buf_text(out, "\n\n");
  return undo(out, before, result);
}

int event_frame_own(int64_t id, const char *type, const struct json *content,
                    struct buf *out) {
  size_t before = out->length;
  int result = 0;
  if (id != 0)
    result |= buf_format(out, "id: %lld\n", (long long)id);
  result |= add_type(type, out);
  result |= buf_text(out, "data: ");
  result |= json_write(content, out);
  result |= buf_text(out, "\n\n");
  return undo(out, before, result);
}
