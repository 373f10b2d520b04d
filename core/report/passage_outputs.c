/* passage_outputs: the outputs of a run as one text. */
#include "core/report/passage.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/text/ansi.h"

#define MESSAGE_LIMIT 2000

enum channel { CHANNEL_OUT, CHANNEL_ERR };

/* The text so far and what stands at its end. */
struct walk {
  const struct text_source *source;
  struct buf *out;
  enum channel channel;
};

static void add_plain(struct walk *walk, const struct json *text) {
  ansi_strip(json_text(text), json_text_length(text), walk->out);
}

/* Only a change of channel is marked, so that ordinary output reads as it was
 * printed. */
static void switch_channel(struct walk *walk, enum channel channel,
                           const char *mark) {
  if (walk->channel == channel)
    return;
  passage_end_line(walk->out);
  buf_text(walk->out, mark);
  walk->channel = channel;
}

static void add_stream(struct walk *walk, const struct json *output) {
  const struct json *text = json_get(output, "text");
  const char *name = json_get_text(output, "name");
  if (json_text_length(text) == 0)
    return;
  enum channel channel =
      name && strcmp(name, "stderr") == 0 ? CHANNEL_ERR : CHANNEL_OUT;
  switch_channel(walk, channel,
                 channel == CHANNEL_ERR ? "[stderr]\n" : "[stdout]\n");
  add_plain(walk, text);
}

/* IPython's rich objects have a text that says nothing: "<IPython.core.display.
 * HTML object>", "<Figure size 640x480 with 1 Axes>". */
static bool says_something(const struct json *plain) {
  const char *text = json_text(plain);
  return text != NULL && strncmp(text, "<IPython.core.display.", 22) != 0;
}

static void add_image(struct walk *walk, size_t number,
                      const struct json *image) {
  const char *mime = json_get_text(image, "mime");
  const char *uri = json_get_text(image, "uri");
  long long width = json_get_integer(image, "width", 0);
  long long height = json_get_integer(image, "height", 0);
  passage_end_line(walk->out);
  buf_format(walk->out, "[image %zu: %s", number + 1, mime ? mime : "image");
  if (width > 0 && height > 0)
    buf_format(walk->out, " %lldx%lld", width, height);
  if (uri != NULL)
    buf_format(walk->out, ", %s", uri);
  buf_text(walk->out, "]\n");
}

static bool add_images_of(struct walk *walk, size_t output) {
  const struct json *images = walk->source->images;
  bool found = false;
  for (size_t i = 0; i < json_length(images); i++) {
    const struct json *image = json_at(images, i);
    if (json_get_integer(image, "output", -1) != (int64_t)output)
      continue;
    add_image(walk, i, image);
    found = true;
  }
  return found;
}

/* A bundle without any text: each type by name and size. */
static void add_types(struct walk *walk, const struct json *data) {
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(data, &state, &mime, &value)) {
    if (strcmp(mime, "text/plain") == 0)
      continue;
    passage_end_line(walk->out);
    buf_text(walk->out, "[");
    ansi_strip(mime, strlen(mime), walk->out);
    if (json_kind(value) == JSON_STRING)
      buf_format(walk->out, ", %zu byte%s", json_text_length(value),
                 json_text_length(value) == 1 ? "" : "s");
    buf_text(walk->out, "]\n");
  }
}

static void add_data(struct walk *walk, const struct json *output,
                     size_t index) {
  static const char *const readable[] = {"text/markdown", "text/latex"};
  const struct json *data = json_get(output, "data");
  if (json_length(data) == 0)
    return;
  switch_channel(walk, CHANNEL_OUT, "[result]\n");
  passage_end_line(walk->out);
  if (add_images_of(walk, index))
    return;
  for (size_t i = 0; i < COUNT_OF(readable); i++)
    if (json_kind(json_get(data, readable[i])) == JSON_STRING) {
      add_plain(walk, json_get(data, readable[i]));
      return;
    }
  const struct json *plain = json_get(data, "text/plain");
  if (says_something(plain))
    add_plain(walk, plain);
  else if (json_has(data, "application/json"))
    json_write(json_get(data, "application/json"), walk->out);
  else if (json_length(data) > (plain != NULL ? 1 : 0))
    add_types(walk, data);
  else
    add_plain(walk, plain);
}

/* The last error output is the one that the answer's error tells about. */
static void add_error(struct walk *walk, const struct json *output, bool last) {
  const struct json *error = walk->source->error;
  bool told = last && json_kind(error) == JSON_OBJECT;
  switch_channel(walk, CHANNEL_OUT, "");
  passage_end_line(walk->out);
  if (told)
    passage_place(error, walk->source->status, walk->out);
  passage_exception(told ? error : output, MESSAGE_LIMIT, walk->out);
  if (told)
    passage_causes(error, 5, walk->out);
}

static bool has_type(const struct json *output, const char *type) {
  const char *text = json_get_text(output, "output_type");
  return text != NULL && strcmp(text, type) == 0;
}

static size_t last_error(const struct json *outputs) {
  size_t i = json_length(outputs);
  while (i > 0 && !has_type(json_at(outputs, i - 1), "error"))
    i--;
  return i > 0 ? i - 1 : SIZE_MAX;
}

void passage_outputs(const struct text_source *source, bool errors,
                     struct buf *out) {
  struct walk walk = {.source = source, .out = out};
  size_t last = last_error(source->outputs);
  for (size_t i = 0; i < json_length(source->outputs); i++) {
    const struct json *output = json_at(source->outputs, i);
    if (has_type(output, "stream"))
      add_stream(&walk, output);
    else if (has_type(output, "error") && errors)
      add_error(&walk, output, i == last);
    else if (!has_type(output, "error"))
      add_data(&walk, output, i);
  }
  /* IPython prints exception groups to stderr and sends no error output. */
  if (errors && last == SIZE_MAX && json_kind(source->error) == JSON_OBJECT)
    add_error(&walk, NULL, true);
}
