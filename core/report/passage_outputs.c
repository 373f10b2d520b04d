/* passage_outputs: the outputs of a run as one text. */
#include "core/report/passage.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/html/html.h"
#include "core/text/ansi.h"
#include "core/text/characters.h"
#include "core/text/string.h"

#define MESSAGE_LIMIT 2000
#define LATE_LIMIT 2000

enum channel { CHANNEL_OUT, CHANNEL_ERR };

/* The text so far and what stands at its end. */
struct walk {
  const struct text_source *source;
  struct buf *out;
  enum channel channel;
  size_t image; /* of source->images, the next one */
};

/* Pagers write bold and underlined letters one over the other: "_\bM" is M. */
static void append_overstruck(const char *text, size_t length,
                              struct buf *out) {
  const char *end = text + length, *back;
  while ((back = memchr(text, '\b', (size_t)(end - text))) != NULL) {
    buf_append(out, text, (size_t)(back - text));
    text = back + 1;
    if (text == end)
      return;
    size_t last = out->length;
    while (last > 0 && utf8_is_continuation(out->data[last - 1]))
      last--;
    if (last > 0 && out->data[last - 1] != '\n')
      buf_truncate(out, last - 1);
  }
  buf_append(out, text, (size_t)(end - text));
}

static void add_plain(struct walk *walk, const struct json *value) {
  const char *text = json_text(value);
  size_t length = json_text_length(value);
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_ANSWER);
  if (length > 0 && memchr(text, '\b', length) != NULL) {
    append_overstruck(text, length, &plain);
    text = buf_string(&plain);
    length = plain.length;
  }
  ansi_strip(text, length, walk->out);
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

/* False for a text that names an object and tells nothing of what is in it:
 * "<IPython.core.display.HTML object>", "<__main__.W at 0x7fb422467550>",
 * "<Figure size 640x480 with 1 Axes>"; and for markup that is shown quoted. */
static bool informs(const struct json *plain) {
  const char *text = json_text(plain);
  size_t length = json_text_length(plain);
  while (length > 0 && strchr(" \n", text[length - 1]))
    length--;
  if (length == 0 ||
      (length == 18 && memcmp(text, "plot without title", 18) == 0))
    return false;
  if (length > 2 && (text[0] == '\'' || text[0] == '"') && text[1] == '<')
    return false;
  return text[0] != '<' || text[length - 1] != '>' ||
         memchr(text, '\n', length) != NULL;
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

/* The images are listed in the order of their outputs. */
static void add_images_of(struct walk *walk, size_t output) {
  const struct json *images = walk->source->images;
  for (; walk->image < json_length(images); walk->image++) {
    const struct json *image = json_at(images, walk->image);
    int64_t owner = json_get_integer(image, "output", -1);
    if (owner > (int64_t)output)
      return;
    if (owner == (int64_t)output)
      add_image(walk, walk->image, image);
  }
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

static bool is_text(const struct json *value) {
  return json_kind(value) == JSON_STRING;
}

static void add_html(struct walk *walk, const struct json *html) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  html_to_text(json_text(html), json_text_length(html), &text);
  ansi_strip(buf_string(&text), text.length, walk->out);
}

/* The form of a bundle that a model reads best: text that informs, else what a
 * person sees of the HTML, else markdown, JSON, and formulas as LaTeX. */
static void add_text(struct walk *walk, const struct json *data) {
  const struct json *plain = json_get(data, "text/plain");
  const struct json *html = json_get(data, "text/html");
  const struct json *markdown = json_get(data, "text/markdown");
  const struct json *latex = json_get(data, "text/latex");
  size_t start = walk->out->length;
  if (is_text(plain) && informs(plain)) {
    add_plain(walk, plain);
    return;
  }
  if (is_text(html))
    add_html(walk, html);
  if (walk->out->length > start)
    return;
  if (is_text(markdown))
    add_plain(walk, markdown);
  else if (json_has(data, "application/json"))
    json_write(json_get(data, "application/json"), walk->out);
  else if (is_text(latex))
    add_plain(walk, latex);
}

static bool names_display(const struct json *plain) {
  return string_starts_with(json_text(plain), "<IPython.core.display.");
}

static void add_data(struct walk *walk, const struct json *output,
                     size_t index) {
  const struct json *data = json_get(output, "data");
  if (json_length(data) == 0)
    return;
  switch_channel(walk, CHANNEL_OUT, "[result]\n");
  passage_end_line(walk->out);
  size_t start = walk->out->length;
  add_text(walk, data);
  add_images_of(walk, index);
  if (walk->out->length > start)
    return;
  const struct json *plain = json_get(data, "text/plain");
  if (is_text(plain) && (json_length(data) == 1 || !names_display(plain)))
    add_plain(walk, plain);
  else
    add_types(walk, data);
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

void passage_late(const struct text_source *source, struct buf *out) {
  CLEANUP(json_done) struct json *outputs = json_array();
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  for (size_t i = 0; i < json_length(source->late); i++)
    json_push(outputs,
              json_share(json_get(json_at(source->late, i), "output")));
  struct text_source late = {.status = "ok", .outputs = outputs};
  passage_outputs(&late, true, &text);
  if (text.length == 0)
    return;
  passage_end_line(out);
  buf_text(out, "[late output of earlier runs]\n");
  characters_append(buf_string(&text), text.length, LATE_LIMIT, out);
  passage_end_line(out);
  buf_text(out, "[end of late output]\n");
}
