#include "core/notebook/output_compare.h"

#include "core/base/mem.h"
#include "core/notebook/mimebundle.h"
#include "core/notebook/stream_join.h"

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

/* A copy with its texts as single strings. */
static struct json *joined(const struct json *output, bool counts) {
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
  if (!counts)
    json_remove(copy, "execution_count");
  return copy;
}

static struct json *normal(const struct json *outputs, bool counts) {
  struct json *result = json_array();
  for (size_t i = 0; i < json_length(outputs); i++)
    stream_join_append(result, joined(json_at(outputs, i), counts));
  return result;
}

bool outputs_agree(const struct json *a, const struct json *b, bool counts) {
  CLEANUP(json_done) struct json *first = normal(a, counts);
  CLEANUP(json_done) struct json *second = normal(b, counts);
  return json_equal(first, second);
}
