#include "core/notebook/mimebundle.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/terminal/terminal_store.h"
#include "core/text/string.h"

bool mimebundle_is_json(const char *mime) {
  return strcmp(mime, "application/json") == 0 ||
         (string_starts_with(mime, "application/") &&
          string_ends_with(mime, "+json") && strchr(mime, '\n') == NULL);
}

bool mimebundle_is_lines(const char *mime) {
  return string_starts_with(mime, "text/") ||
         strcmp(mime, "application/javascript") == 0 ||
         strcmp(mime, "image/svg+xml") == 0;
}

bool mimebundle_is_base64(const char *mime) {
  static const char *const families[] = {"image/", "audio/", "video/", "font/"};
  static const char *const types[] = {"application/pdf", "application/zip",
                                      "application/gzip",
                                      "application/octet-stream"};
  if (string_ends_with(mime, "+xml"))
    return false;
  for (size_t i = 0; i < COUNT_OF(families); i++)
    if (string_starts_with(mime, families[i]))
      return true;
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strcmp(mime, types[i]) == 0)
      return true;
  return false;
}

/* A value longer than this is an artifact whatever its type. */
#define LONG_VALUE ((size_t)64 << 10)

static struct json *joined(const struct json *list) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  for (size_t i = 0; i < json_length(list); i++) {
    const struct json *part = json_at(list, i);
    if (json_kind(part) == JSON_STRING)
      buf_append(&text, json_text(part), json_text_length(part));
  }
  return json_string_n(buf_string(&text), text.length);
}

struct json *mimebundle_text(const struct json *value) {
  switch (json_kind(value)) {
  case JSON_STRING:
    return json_share(value);
  case JSON_ARRAY:
    return joined(value);
  case JSON_NULL:
    return json_string("");
  default: {
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
    json_write(value, &text);
    return json_string_n(buf_string(&text), text.length);
  }
  }
}

struct json *mimebundle_plain_text(const struct json *value) {
  enum json_kind kind = json_kind(value);
  bool text = kind == JSON_STRING || kind == JSON_ARRAY;
  return mimebundle_text(text ? value : NULL);
}

struct json *mimebundle_cut_text(const char *text, size_t length, size_t limit,
                                 struct mimebundle_left_out *left_out) {
  struct terminal_store store;
  CLEANUP(buf_free) struct buf kept = BUF_INIT(BUF_NOTEBOOK);
  terminal_store_init(&store, limit / 4, limit - limit / 4);
  terminal_store_append(&store, text, length);
  terminal_store_trim(&store, 0);
  terminal_store_write(&store, &kept);
  if (store.dropped_bytes > 0) {
    left_out->values++;
    left_out->bytes += store.dropped_bytes;
  }
  terminal_store_free(&store);
  return json_string_n(buf_string(&kept), kept.length);
}

/* The bytes of a value that was cleaned: of its text, or of its JSON. */
static size_t value_size(const char *mime, const struct json *value) {
  if (!mimebundle_is_json(mime))
    return json_text_length(value);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  return json_write(value, &text) < 0 ? SIZE_MAX / 4 : text.length;
}

bool mimebundle_is_artifact(const char *mime, size_t value_bytes) {
  if (strcmp(mime, "text/plain") == 0)
    return false;
  return string_starts_with(mime, "image/") ||
         strcmp(mime, "application/pdf") == 0 ||
         strcmp(mime, "text/html") == 0 || value_bytes > LONG_VALUE;
}

/* A bundle that is being cleaned. */
struct cleaning {
  const struct mimebundle_limits *limits;
  struct json *bundle;
  struct buf notes; /* lines for text/plain */
  struct mimebundle_size size;
  struct mimebundle_left_out *left_out;
};

static void leave_out(struct cleaning *cleaning, const char *mime,
                      size_t size) {
  buf_format(&cleaning->notes, "[… %.80s of %zu bytes left out …]\n", mime,
             size);
  cleaning->left_out->values++;
  cleaning->left_out->bytes += size;
}

static void add_text(struct cleaning *cleaning, const char *mime,
                     const struct json *value, size_t size) {
  size_t most = cleaning->limits->text, total = cleaning->size.text;
  size_t left = total < 2 * most ? 2 * most - total : 0;
  size_t room = left < most ? left : most;
  struct json *kept = NULL;
  if (size <= room)
    kept = json_share(value);
  else if (strcmp(mime, "text/plain") == 0)
    kept = mimebundle_cut_text(json_text(value), json_text_length(value), room,
                               cleaning->left_out);
  else {
    leave_out(cleaning, mime, size);
    return;
  }
  cleaning->size.text += size <= room ? size : json_text_length(kept);
  json_set(cleaning->bundle, mime, kept);
}

static char *keep(const struct mimebundle_limits *limits, const char *mime,
                  const struct json *value) {
  if (limits->keep == NULL)
    return NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  if (mimebundle_is_json(mime)) {
    json_write(value, &text);
    return limits->keep(limits->context, mime, buf_string(&text), text.length);
  }
  return limits->keep(limits->context, mime, json_text(value),
                      json_text_length(value));
}

static void add_artifact(struct cleaning *cleaning, const char *mime,
                         const struct json *value, size_t size) {
  const struct mimebundle_limits *limits = cleaning->limits;
  size_t on_disk = mimebundle_is_base64(mime) ? size / 4 * 3 : size;
  if (on_disk <= limits->artifact &&
      size + cleaning->size.artifacts <= limits->artifacts) {
    json_set(cleaning->bundle, mime, json_share(value));
    cleaning->size.artifacts += size;
    return;
  }
  CLEANUP(mem_free_pointer) char *address = keep(limits, mime, value);
  if (address == NULL) {
    leave_out(cleaning, mime, on_disk);
    return;
  }
  buf_format(&cleaning->notes, "[%.80s of %zu bytes: %s]\n", mime, on_disk,
             address);
  cleaning->size.kept += size;
}

/* Appends the notes to text/plain; returns how many bytes that adds. */
static size_t add_notes(struct json *bundle, const struct buf *notes) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  const struct json *plain = json_get(bundle, "text/plain");
  if (json_text_length(plain) > 0) {
    buf_append(&text, json_text(plain), json_text_length(plain));
    buf_byte(&text, '\n');
  }
  /* Without the last line end, as text/plain never has one. */
  buf_append(&text, buf_string(notes), notes->length - 1);
  size_t before = json_text_length(plain);
  json_set(bundle, "text/plain", json_string_n(text.data, text.length));
  return text.length - before;
}

/* base64 on one line (ipykernel ends it with a line feed), so that the same
 * picture is the same text wherever it stands. */
static struct json *without_line_feeds(struct json *value) {
  const char *text = json_text(value);
  size_t length = json_text_length(value);
  if (memchr(text, '\n', length) == NULL)
    return value;
  CLEANUP(buf_free) struct buf clean = BUF_INIT(length);
  for (size_t start = 0; start < length;) {
    const char *end = memchr(text + start, '\n', length - start);
    size_t size = end == NULL ? length - start : (size_t)(end - text) - start;
    buf_append(&clean, text + start, size);
    start += size + 1;
  }
  json_free(value);
  return json_string_n(buf_string(&clean), clean.length);
}

static struct json *clean_value(const char *mime, const struct json *value) {
  if (mimebundle_is_json(mime))
    return json_share(value);
  struct json *text = mimebundle_text(value);
  return mimebundle_is_base64(mime) ? without_line_feeds(text) : text;
}

struct json *mimebundle_clean(const struct json *data,
                              const struct mimebundle_limits *limits,
                              struct mimebundle_size *size,
                              struct mimebundle_left_out *left_out) {
  struct cleaning cleaning = {.limits = limits,
                              .bundle = json_object(),
                              .notes = BUF_INIT(BUF_SMALL),
                              .left_out = left_out};
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(data, &state, &mime, &value)) {
    if (!mimebundle_is_json(mime) && json_kind(value) == JSON_NULL)
      continue;
    CLEANUP(json_done) struct json *clean = clean_value(mime, value);
    size_t bytes = value_size(mime, clean);
    if (mimebundle_is_artifact(mime, bytes))
      add_artifact(&cleaning, mime, clean, bytes);
    else
      add_text(&cleaning, mime, clean, bytes);
  }
  if (cleaning.notes.length > 0)
    cleaning.size.text += add_notes(cleaning.bundle, &cleaning.notes);
  buf_free(&cleaning.notes);
  *size = cleaning.size;
  return cleaning.bundle;
}
