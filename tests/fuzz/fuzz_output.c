/* libFuzzer target: any sequence of messages into the output collector, and the
 * result into a cell. The caps hold, and the cell is strict JSON, valid UTF-8,
 * and what nbformat's rules make of it once more.
 *
 * The input is cut at NUL bytes; the first byte of a part says what it is: o
 * and e text for a stream, the others JSON. The first two bytes set caps. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "core/notebook/cell.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/collector.h"

/* Markers and notes are not counted in the caps: so much an output at most. */
enum { NOTES = 5000 };

static const struct {
  char letter;
  const char *type;
} messages[] = {
    {'d', "display_data"},        {'r', "execute_result"}, {'x', "error"},
    {'u', "update_display_data"}, {'c', "clear_output"},   {'s', "stream"},
    {'w', "comm_open"},           {'m', "comm_msg"},
};

static void require(bool good) {
  if (!good)
    abort();
}

static void add_stream(struct collector *collector, const char *name,
                       const char *text, size_t length) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "name", name);
  json_set(content, "text", json_string_n(text, length));
  collector_add(collector, "stream", content);
}

static void add_message(struct collector *collector, const char *part,
                        size_t length) {
  if (length == 0)
    return;
  if (*part == 'o' || *part == 'e') {
    add_stream(collector, *part == 'o' ? "stdout" : "stderr", part + 1,
               length - 1);
    return;
  }
  CLEANUP(json_done) struct json *content = NULL;
  if (json_parse(part + 1, length - 1, &JSON_RULES_KERNEL, &content, NULL) < 0)
    return;
  for (size_t i = 0; i < COUNT_OF(messages); i++)
    if (messages[i].letter == *part)
      collector_add(collector, messages[i].type, content);
}

static size_t value_bytes(const struct json *value) {
  if (json_kind(value) == JSON_STRING)
    return json_text_length(value);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  json_write(value, &text);
  return text.length;
}

static size_t output_bytes(const struct json *output) {
  size_t bytes = json_text_length(json_get(output, "text")) +
                 json_text_length(json_get(output, "ename")) +
                 json_text_length(json_get(output, "evalue"));
  const struct json *traceback = json_get(output, "traceback");
  for (size_t i = 0; i < json_length(traceback); i++)
    bytes += json_text_length(json_at(traceback, i));
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(json_get(output, "data"), &state, &mime, &value))
    bytes += value_bytes(value);
  return bytes;
}

static void check_caps(const struct json *outputs,
                       const struct output_limits *limits) {
  size_t bytes = 0, count = json_length(outputs);
  for (size_t i = 0; i < count; i++)
    bytes += output_bytes(json_at(outputs, i));
  require(count <= limits->outputs + 1 || count <= 2);
  /* Texts, and as much again of artifacts. */
  require(bytes <= 2 * limits->bytes + count * NOTES);
}

static void check_cell(const struct json *outputs) {
  const struct code_cell cell = {
      .id = "a", .source = "", .execution_count = -1, .outputs = outputs};
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(buf_free) struct buf again = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(json_done) struct json *parsed = NULL;
  require(cell_write_code(&cell, &text) == 0);
  require(utf8_is_valid(text.data, text.length));
  require(json_parse(text.data, text.length, &JSON_RULES_STORE, &parsed,
                     NULL) == 0);
  CLEANUP(json_done) struct json *clean = cell_clean(parsed);
  require(clean != NULL && cell_write_json(clean, &again) == 0);
  require(text.length == again.length &&
          memcmp(text.data, again.data, text.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  const struct output_limits limits = {
      .bytes = (size_t)data[0] * 8,
      .bytes_hard = 100,
      .outputs = data[1] % 16U,
      .image_bytes = (size_t)data[0] * 2,
  };
  CLEANUP(collector_done) struct collector *collector = collector_new(&limits);
  const char *part = (const char *)data + 2, *end = (const char *)data + size;
  while (part < end) {
    const char *stop = memchr(part, '\0', (size_t)(end - part));
    stop = stop == NULL ? end : stop;
    add_message(collector, part, (size_t)(stop - part));
    part = stop + 1;
    CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
    check_caps(outputs, &limits);
  }
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  check_cell(outputs);
  struct display_update update;
  while (collector_take_update(collector, &update) == 1)
    display_update_free(&update);
  return 0;
}
