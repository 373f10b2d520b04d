/* Whatever a run left: the texts keep their bounds, are valid UTF-8 without
 * terminal control, and the bounded text leaves something out exactly when the
 * full one says so. The input is a limit (two bytes), a status (one byte), then
 * outputs: a byte for the kind, a byte for the length, the text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/report/text.h"
#include "core/text/characters.h"

/* The last line and the marker take no more than this. */
#define LEAST_LIMIT 700

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json *stream(const char *name, struct json *text) {
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", name);
  json_set(output, "text", text);
  return output;
}

static struct json *bundle(const char *mime, struct json *text) {
  struct json *output = json_object(), *values = json_object();
  json_set_text(output, "output_type", "display_data");
  json_set(values, mime, text);
  json_set(output, "data", values);
  return output;
}

static struct json *output_of(uint8_t kind, struct json *text) {
  static const char *const mimes[] = {"text/plain", "text/markdown",
                                      "text/html", "image/png",
                                      "application/json"};
  struct json *output;
  switch (kind % 8) {
  case 0:
    return stream("stdout", text);
  case 1:
    return stream("stderr", text);
  case 2:
    output = json_object();
    json_set_text(output, "output_type", "error");
    json_set_text(output, "ename", "Error");
    json_set(output, "evalue", text);
    return output;
  default:
    return bundle(mimes[kind % 8 - 3], text);
  }
}

static void check_text(const struct buf *text, size_t most) {
  if (!utf8_is_valid(buf_string(text), text->length) ||
      utf8_count(buf_string(text), text->length) > most ||
      (text->length > 0 && memchr(text->data, 0x1B, text->length)))
    abort();
}

static void compose_and_check(const struct text_source *source) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf full = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf prompt = BUF_INIT(BUF_SMALL);
  if (text_compose(source, &text) != 0)
    abort();
  if (text_compose_full(source, &full) < 0 || text_prompt(source, &prompt) < 0)
    abort();
  size_t least = source->limit < LEAST_LIMIT ? LEAST_LIMIT : source->limit;
  check_text(&text, least);
  check_text(&full, SIZE_MAX);
  check_text(&prompt, 4000);
  size_t whole = utf8_count(buf_string(&full), full.length);
  if (utf8_count(buf_string(&text), text.length) >
      (whole < least ? least : whole))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const statuses[] = {"ok",        "error",       "timeout",
                                         "cancelled", "kernel_died", "oom"};
  if (size < 3)
    return 0;
  CLEANUP(json_done) struct json *outputs = json_array();
  CLEANUP(json_done) struct json *images = json_array();
  for (size_t i = 3; i + 2 <= size;) {
    uint8_t kind = data[i];
    size_t length = data[i + 1], left = size - i - 2;
    if (length > left)
      length = left;
    struct json *text = json_string_n((const char *)data + i + 2, length);
    if (kind % 16 == 6) {
      struct json *image = json_object();
      json_set_text(image, "mime", "image/png");
      json_set_integer(image, "output", (int64_t)json_length(outputs));
      json_push(images, image);
    }
    json_push(outputs, output_of(kind, text));
    i += 2 + length;
  }
  struct text_source source = {
      .status = statuses[data[2] % COUNT_OF(statuses)],
      .outputs = outputs,
      .images = images,
      .kernel_state = data[2] & 8 ? "kept" : "lost",
      .kernel_reason = data[2] & 16 ? "signal 9" : NULL,
      .full_text_uri = data[2] & 32 ? "/tasks/demo/artifacts/x.txt" : NULL,
      .timeout_ms = 2000,
      .limit = data[0] | (size_t)data[1] << 8};
  compose_and_check(&source);
  return 0;
}
