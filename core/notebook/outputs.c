#include "core/notebook/outputs.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/notebook/cell_clean.h"
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
  json_set(output, "name", json_share(json_get(first, "name")));
  json_set_text(output, "output_type", "stream");
  json_set(output, "text", json_string_n(buf_string(&text), text.length));
  return output;
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

struct json *outputs_error(const char *ename, const char *evalue) {
  CLEANUP(mem_free_pointer) char *line = mem_format("%s: %s", ename, evalue);
  struct json *traceback = json_array();
  json_push(traceback, json_string(line));
  struct json *error = json_object();
  json_set_text(error, "ename", ename);
  json_set_text(error, "evalue", evalue);
  json_set_text(error, "output_type", "error");
  json_set(error, "traceback", traceback);
  return error;
}

/* A copy with its texts as single strings. */
static struct json *comparable(const struct json *output, bool counts) {
  struct json *copy = cell_clean_output(output);
  if (copy != NULL && !counts)
    json_remove(copy, "execution_count");
  return copy == NULL ? json_share(output) : copy;
}

static struct json *normal(const struct json *outputs, bool counts) {
  CLEANUP(json_done) struct json *all = json_array();
  for (size_t i = 0; i < json_length(outputs); i++)
    json_push(all, comparable(json_at(outputs, i), counts));
  return outputs_join(all);
}

bool outputs_agree(const struct json *a, const struct json *b, bool counts) {
  CLEANUP(json_done) struct json *first = normal(a, counts);
  CLEANUP(json_done) struct json *second = normal(b, counts);
  return json_equal(first, second);
}
