#include "core/notebook/outputs.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/notebook/mimebundle.h"

static bool is_same_stream(const struct json *a, const struct json *b) {
  return json_has(a, "text") && json_has(b, "text") &&
         json_equal(json_get(a, "name"), json_get(b, "name"));
}

/* The outputs of one stream from `from` to before `to` as one. */
static struct json *joined(const struct json *outputs, size_t from, size_t to) {
  const struct json *first = json_at(outputs, from);
  if (to == from + 1)
    return json_share(first);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  for (size_t i = from; i < to; i++) {
    CLEANUP(json_done)
    struct json *part = mimebundle_text(json_get(json_at(outputs, i), "text"));
    buf_append(&text, json_text(part), json_text_length(part));
  }
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set(output, "name", json_share(json_get(first, "name")));
  json_set(output, "text", json_string_n(buf_string(&text), text.length));
  return output;
}

void outputs_append(struct json *outputs, struct json *output) {
  size_t count = json_length(outputs);
  json_push(outputs, output);
  if (count == 0 || !is_same_stream(json_at(outputs, count - 1), output))
    return;
  json_replace_at(outputs, count - 1, joined(outputs, count - 1, count + 1));
  json_remove_at(outputs, count, 1);
}

struct json *outputs_join(const struct json *outputs) {
  struct json *all = json_array();
  size_t count = json_length(outputs), end;
  for (size_t i = 0; i < count; i = end) {
    end = i + 1;
    while (end < count &&
           is_same_stream(json_at(outputs, i), json_at(outputs, end)))
      end++;
    json_push(all, joined(outputs, i, end));
  }
  return all;
}

static struct json *comparable_data(const struct json *data) {
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

/* A copy with its texts as single strings. */
static struct json *comparable(const struct json *output, bool counts) {
  struct json *copy = json_object();
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(output, &state, &key, &value))
    json_set(copy, key, json_share(value));
  if (json_has(output, "name"))
    json_set(copy, "text", mimebundle_plain_text(json_get(output, "text")));
  if (json_has(output, "data"))
    json_set(copy, "data", comparable_data(json_get(output, "data")));
  if (!counts)
    json_remove(copy, "execution_count");
  return copy;
}

static struct json *normal(const struct json *outputs, bool counts) {
  struct json *result = json_array();
  for (size_t i = 0; i < json_length(outputs); i++)
    outputs_append(result, comparable(json_at(outputs, i), counts));
  return result;
}

bool outputs_agree(const struct json *a, const struct json *b, bool counts) {
  CLEANUP(json_done) struct json *first = normal(a, counts);
  CLEANUP(json_done) struct json *second = normal(b, counts);
  return json_equal(first, second);
}
