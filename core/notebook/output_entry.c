#include "core/notebook/output_entry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void output_entry_free(struct output_entry *entry) {
  free(entry->name);
  terminal_free(entry->terminal);
  json_free(entry->rendered);
  free(entry->display_id);
  json_free(entry->data);
  json_free(entry->metadata);
  json_free(entry->error);
}

void output_entry_stream(struct output_entry *entry, const char *name,
                         size_t limit) {
  *entry = (struct output_entry){
      .kind = OUTPUT_STREAM,
      .name = mem_copy_text(name),
      .terminal = terminal_new(limit / 4, limit - limit / 4),
  };
}

static void changed(struct output_entry *entry) {
  json_free(entry->rendered);
  entry->rendered = NULL;
  entry->size = terminal_size(entry->terminal);
}

void output_entry_write(struct output_entry *entry, const char *text,
                        size_t length) {
  terminal_write(entry->terminal, text, length);
  changed(entry);
}

void output_entry_shrink(struct output_entry *entry, size_t limit) {
  terminal_shrink(entry->terminal, limit / 4, limit - limit / 4);
  changed(entry);
}

void output_entry_bundle(struct output_entry *entry, const struct json *content,
                         const struct mimebundle_limits *limits,
                         struct mimebundle_left_out *left_out) {
  struct mimebundle_size size;
  json_free(entry->data);
  json_free(entry->metadata);
  entry->data =
      mimebundle_clean(json_get(content, "data"), limits, &size, left_out);
  entry->size = size.text;
  entry->artifacts = size.artifacts;
  entry->kept = size.kept;
  const struct json *metadata = json_get(content, "metadata");
  entry->metadata =
      json_kind(metadata) == JSON_OBJECT ? json_share(metadata) : json_object();
}

static struct json *cut_member(const struct json *content, const char *key,
                               size_t limit,
                               struct mimebundle_left_out *left_out) {
  struct json *text = mimebundle_plain_text(json_get(content, key));
  struct json *cut = mimebundle_cut_text(
      json_text(text), json_text_length(text), limit, left_out);
  json_free(text);
  return cut;
}

/* The parts from the end on that fit: the last ones name the error and the line
 * that raised it. */
static size_t first_that_fits(const struct json *parts, size_t limit) {
  size_t first = json_length(parts), total = 0;
  while (first > 0) {
    total += json_text_length(json_at(parts, first - 1));
    if (total > limit)
      break;
    first--;
  }
  return first;
}

static struct json *cut_traceback(const struct json *traceback, size_t limit,
                                  struct mimebundle_left_out *left_out) {
  struct json *parts = json_array();
  for (size_t i = 0; i < json_length(traceback); i++) {
    const struct json *part = json_at(traceback, i);
    if (json_kind(part) == JSON_STRING)
      json_push(parts,
                mimebundle_cut_text(json_text(part), json_text_length(part),
                                    limit, left_out));
  }
  size_t first = first_that_fits(parts, 2 * limit);
  if (first == 0)
    return parts;
  for (size_t i = 0; i < first; i++)
    left_out->bytes += json_text_length(json_at(parts, i));
  left_out->values += first;
  json_remove_at(parts, 0, first - 1);
  char *note = mem_format("[… %zu parts left out …]", first);
  json_replace_at(parts, 0, json_string(note));
  free(note);
  return parts;
}

void output_entry_error(struct output_entry *entry, const struct json *content,
                        size_t limit, struct mimebundle_left_out *left_out) {
  struct json *error = json_object();
  json_set(error, "ename", cut_member(content, "ename", limit, left_out));
  json_set(error, "evalue", cut_member(content, "evalue", limit, left_out));
  json_set(error, "output_type", json_string("error"));
  struct json *traceback =
      cut_traceback(json_get(content, "traceback"), limit, left_out);
  json_set(error, "traceback", traceback);
  *entry = (struct output_entry){.kind = OUTPUT_ERROR, .error = error};
  entry->size = json_text_length(json_get(error, "ename")) +
                json_text_length(json_get(error, "evalue"));
  for (size_t i = 0; i < json_length(traceback); i++)
    entry->size += json_text_length(json_at(traceback, i));
}

const struct json *output_entry_text(struct output_entry *entry) {
  if (entry->rendered == NULL) {
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
    if (entry->kind == OUTPUT_STREAM)
      terminal_render(entry->terminal, &text);
    else
      buf_format(&text, "[… %" PRIu64 " outputs left out …]\n", entry->gap);
    entry->rendered = json_string_n(buf_string(&text), text.length);
  }
  return entry->rendered;
}

static const char *stream_of(const struct output_entry *entry) {
  return entry->kind == OUTPUT_GAP ? "stderr" : entry->name;
}

bool output_entry_joins(const struct output_entry *first,
                        const struct output_entry *second) {
  const char *a = stream_of(first), *b = stream_of(second);
  return a != NULL && b != NULL && strcmp(a, b) == 0;
}

struct json *output_entry_json(struct output_entry *entry) {
  if (entry->kind == OUTPUT_ERROR)
    return json_copy(entry->error);
  struct json *output = json_object();
  if (entry->kind == OUTPUT_STREAM || entry->kind == OUTPUT_GAP) {
    json_set_text(output, "name", stream_of(entry));
    json_set_text(output, "output_type", "stream");
    json_set(output, "text", json_copy(output_entry_text(entry)));
    return output;
  }
  bool result = entry->kind == OUTPUT_RESULT;
  json_set(output, "data", json_copy(entry->data));
  if (result)
    json_set(output, "execution_count",
             entry->execution_count < 0 ? NULL
                                        : json_integer(entry->execution_count));
  json_set(output, "metadata", json_copy(entry->metadata));
  json_set_text(output, "output_type",
                result ? "execute_result" : "display_data");
  return output;
}
