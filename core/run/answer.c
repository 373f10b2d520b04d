#include "core/run/answer.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/outputs.h"
#include "core/run/collect/artifacts.h"
#include "core/run/engine/engine_private.h"

static void append_stream(const struct json *outputs, const char *name,
                          struct buf *out) {
  for (size_t i = 0; i < json_length(outputs); i++) {
    const struct json *output = json_at(outputs, i);
    const char *its_name = json_get_text(output, "name");
    if (its_name == NULL || strcmp(its_name, name) != 0)
      continue;
    const struct json *text = json_get(output, "text");
    if (json_text(text) != NULL)
      buf_append(out, json_text(text), json_text_length(text));
  }
}

static void set_stream(struct json *answer, const struct json *outputs,
                       const char *name) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  append_stream(outputs, name, &text);
  json_set(answer, name, json_string_n(buf_string(&text), text.length));
}

/* The data of the last execute_result, or null. */
static struct json *result_of(const struct json *outputs) {
  for (size_t i = json_length(outputs); i-- > 0;) {
    const struct json *output = json_at(outputs, i);
    const char *type = json_get_text(output, "output_type");
    if (type != NULL && strcmp(type, "execute_result") == 0)
      return json_share(json_get(output, "data"));
  }
  return NULL;
}

static bool is_linked(const struct run_record *record) {
  const char *images = json_get_text(record->options, "images");
  return images != NULL && strcmp(images, "link") == 0;
}

/* In a mimebundle SVG is text; every other image is base64. */
static struct json *image_base64(const char *mime, const struct json *value) {
  if (strcmp(mime, "image/svg+xml") != 0)
    return json_share(value);
  if (json_text(value) == NULL)
    return NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  crypto_base64_encode(json_text(value), json_text_length(value), &text);
  return json_string_n(buf_string(&text), text.length);
}

static struct json *images_with_content(const struct run_record *record,
                                        const struct json *outputs,
                                        int64_t inline_bytes) {
  struct json *images = json_array();
  for (size_t i = 0; i < json_length(record->images); i++) {
    const struct json *stored = json_at(record->images, i);
    const char *mime = json_get_text(stored, "mime");
    if (mime == NULL)
      continue;
    struct json *image = json_object();
    json_set_text(image, "mime", mime);
    bool given = !is_linked(record) &&
                 json_get_integer(stored, "bytes", 0) <= inline_bytes;
    size_t index = (size_t)json_get_integer(stored, "output", 0);
    const struct json *data = json_get(json_at(outputs, index), "data");
    json_set(image, "base64",
             given ? image_base64(mime, json_get(data, mime)) : NULL);
    static const char *const kept[] = {"uri",   "width",  "height",
                                       "bytes", "sha256", "output"};
    for (size_t k = 0; k < COUNT_OF(kept); k++)
      json_set(image, kept[k], json_share(json_get(stored, kept[k])));
    json_push(images, image);
  }
  return images;
}

/* images = "link": the images' values are left out of the outputs too. */
static struct json *outputs_without_images(const struct run_record *record,
                                           const struct json *outputs) {
  struct json *copy = json_copy(outputs);
  for (size_t i = 0; i < json_length(record->images); i++) {
    const struct json *image = json_at(record->images, i);
    size_t index = (size_t)json_get_integer(image, "output", 0);
    const char *mime = json_get_text(image, "mime");
    if (mime != NULL)
      json_remove(json_get(json_at(copy, index), "data"), mime);
  }
  return copy;
}

static struct json *kernel_of(const struct run_record *record) {
  if (record->kernel == NULL)
    return NULL;
  struct json *kernel = json_object();
  json_set_text(kernel, "id", record->kernel);
  json_set_integer(kernel, "generation", record->generation);
  json_set_text(kernel, "state", record->kernel_state);
  json_set_text(kernel, "reason", record->kernel_reason);
  return kernel;
}

static void set_known(struct json *object, const char *key, int64_t value) {
  json_set(object, key, value < 0 ? NULL : json_integer(value));
}

static struct json *usage_of(const struct run_record *record) {
  struct json *usage = json_object();
  int64_t started =
      record->started_at != 0 ? record->started_at : record->ended_at;
  set_known(usage, "queue_ms",
            started == 0 ? -1 : (started - record->queued_at) / 1000);
  set_known(usage, "wall_ms",
            record->ended_at == 0 || started == 0
                ? -1
                : (record->ended_at - started) / 1000);
  set_known(usage, "cpu_ms", record->cpu_ms);
  set_known(usage, "memory_peak_bytes", record->memory_peak_bytes);
  set_known(usage, "output_bytes", record->output_bytes);
  return usage;
}

struct json *answer_build(const struct run_record *record,
                          const struct json *outputs, int64_t inline_bytes) {
  struct json *answer = json_object();
  json_set_text(answer, "run", record->id);
  json_set_text(answer, "task", record->task);
  json_set_text(answer, "cell", record->cell);
  json_set_text(answer, "status", run_status_name(record->status));
  set_known(answer, "execution_count", record->execution_count);
  set_stream(answer, outputs, "stdout");
  set_stream(answer, outputs, "stderr");
  json_set(answer, "result", result_of(outputs));
  json_set(answer, "outputs",
           is_linked(record) ? outputs_without_images(record, outputs)
                             : json_share(outputs));
  json_set(answer, "images",
           images_with_content(record, outputs, inline_bytes));
  json_set(answer, "files",
           record->files == NULL ? json_array() : json_share(record->files));
  json_set(answer, "error", json_share(record->error));
  json_set_text(answer, "text", record->text);
  json_set(answer, "kernel", kernel_of(record));
  json_set(answer, "truncated", json_share(record->truncated));
  json_set(answer, "usage", usage_of(record));
  json_set_text(answer, "ended_by", record->ended_by);
  json_set(answer, "notes",
           record->notes == NULL ? json_array() : json_share(record->notes));
  json_set(answer, "late_outputs",
           record->late_told == NULL ? json_array()
                                     : json_share(record->late_told));
  json_set_integer(answer, "late_count", record->late_outputs);
  CLEANUP(mem_free_pointer)
  char *notebook =
      mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_NOTEBOOK, record->task);
  json_set_text(answer, "notebook", notebook);
  return answer;
}

struct json *answer_outputs(struct engine *engine, const char *task,
                            const struct json *stored) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_beneath(engine->tasks_directory, task,
                                  O_RDONLY | O_DIRECTORY, 0, NULL);
  CLEANUP(json_done)
  struct json *resolved = artifacts_resolve(directory, stored);
  return outputs_join(resolved);
}
