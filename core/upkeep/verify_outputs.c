#include "core/upkeep/verify_outputs.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/mimebundle.h"

static struct json *joined_data(const struct json *data) {
  struct json *result = json_object();
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(data, &state, &mime, &value))
    json_set(result, mime,
             mimebundle_is_json(mime) ? json_share(value)
                                      : mimebundle_text(value));
  return result;
}

static bool is_same_stream(const struct json *last, const struct json *output) {
  const char *a = json_get_text(last, "name");
  const char *b = json_get_text(output, "name");
  return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static void append_text(struct json *last, const struct json *output) {
  struct json *CLEANUP(json_done) before =
      mimebundle_plain_text(json_get(last, "text"));
  struct json *CLEANUP(json_done) after =
      mimebundle_plain_text(json_get(output, "text"));
  struct buf CLEANUP(buf_free) text = BUF_INIT(BUF_ANSWER);
  buf_append(&text, json_text(before), json_text_length(before));
  buf_append(&text, json_text(after), json_text_length(after));
  json_set(last, "text", json_string_n(buf_string(&text), text.length));
}

static struct json *joined(const struct json *output) {
  struct json *copy = json_object();
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(output, &state, &key, &value))
    json_set(copy, key, json_share(value));
  if (json_has(output, "name"))
    json_set(copy, "text", mimebundle_plain_text(json_get(output, "text")));
  if (json_has(output, "data"))
    json_set(copy, "data", joined_data(json_get(output, "data")));
  return copy;
}

static struct json *normal(const struct json *outputs) {
  struct json *result = json_array();
  for (size_t i = 0; i < json_length(outputs); i++) {
    const struct json *output = json_at(outputs, i);
    size_t count = json_length(result);
    struct json *last = count == 0 ? NULL : json_at(result, count - 1);
    if (last != NULL && is_same_stream(last, output))
      append_text(last, output);
    else
      json_push(result, joined(output));
  }
  return result;
}

bool verify_same_outputs(const struct json *a, const struct json *b) {
  struct json *CLEANUP(json_done) first = normal(a);
  struct json *CLEANUP(json_done) second = normal(b);
  return json_equal(first, second);
}
