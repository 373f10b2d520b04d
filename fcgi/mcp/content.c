#include "fcgi/mcp/content.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define FILES_MOST 20    /* links; the text names all */
#define OUTPUT_MOST 8000 /* bytes of a stream that goes on */

bool content_is_visible(const char *mime) {
  static const char *const visible[] = {"image/png", "image/jpeg", "image/gif",
                                        "image/webp"};
  for (size_t i = 0; mime != NULL && i < COUNT_OF(visible); i++)
    if (strcmp(mime, visible[i]) == 0)
      return true;
  return false;
}

static struct json *text_block(const char *text) {
  struct json *block = json_object();
  json_set_text(block, "type", "text");
  json_set_text(block, "text", text);
  return block;
}

struct json *content_image(const char *mime, const char *base64) {
  struct json *block = json_object();
  json_set_text(block, "type", "image");
  json_set_text(block, "data", base64);
  json_set_text(block, "mimeType", mime);
  return block;
}

struct json *content_link(const char *task, const char *path, const char *mime,
                          int64_t bytes) {
  struct json *block = json_object();
  const char *slash = strrchr(path, '/');
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("cellpost://tasks/%s/%s", task, path);
  json_set_text(block, "type", "resource_link");
  json_set_text(block, "uri", uri);
  json_set_text(block, "name", slash == NULL ? path : slash + 1);
  if (mime != NULL)
    json_set_text(block, "mimeType", mime);
  if (bytes >= 0)
    json_set_integer(block, "size", bytes);
  return block;
}

static struct json *result_of(struct json *content, bool is_error) {
  struct json *result = json_object();
  json_set(result, "content", content);
  json_set_boolean(result, "isError", is_error);
  return result;
}

struct json *content_of_text(const char *text, bool is_error) {
  struct json *content = json_array();
  json_push(content, text_block(text));
  return result_of(content, is_error);
}

static bool is_ok(const struct json *answer) {
  const char *status = json_get_text(answer, "status");
  return status != NULL && strcmp(status, "ok") == 0;
}

/* For a failure the text that says what to mend, with the output in it. */
static struct json *first_text(const struct json *answer) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  const char *said = json_get_text(answer, "text");
  const char *prompt = json_get_text(json_get(answer, "error"), "prompt");
  if (!is_ok(answer) && prompt != NULL)
    said = prompt;
  buf_text(&text, said == NULL || *said == '\0' ? "(no output)" : said);
  const struct json *kernel = json_get(answer, "kernel");
  const char *reason = json_get_text(kernel, "reason");
  const char *state = json_get_text(kernel, "state");
  if (is_ok(answer) && reason != NULL && state != NULL &&
      strcmp(state, "kept") != 0)
    buf_format(&text, "\nNote: this cell ran in a new kernel: %s", reason);
  return text_block(buf_string(&text));
}

/* "/tasks/T/artifacts/x.png" as the path beneath the task. */
static const char *beneath_task(const char *uri) {
  static const char head[] = "/tasks/";
  if (uri == NULL || strncmp(uri, head, sizeof head - 1) != 0)
    return NULL;
  const char *slash = strchr(uri + sizeof head - 1, '/');
  return slash == NULL ? NULL : slash + 1;
}

static void add_images(const struct json *answer, size_t room,
                       struct json *content) {
  const struct json *images = json_get(answer, "images");
  const char *task = json_get_text(answer, "task");
  for (size_t i = 0; i < json_length(images); i++) {
    const struct json *image = json_at(images, i);
    const char *mime = json_get_text(image, "mime");
    const char *base64 = json_get_text(image, "base64");
    const char *path = beneath_task(json_get_text(image, "uri"));
    size_t length = json_text_length(json_get(image, "base64"));
    if (base64 != NULL && length <= room && content_is_visible(mime)) {
      json_push(content, content_image(mime, base64));
      room -= length;
    } else if (path != NULL) {
      json_push(content, content_link(task, path, mime,
                                      json_get_integer(image, "bytes", -1)));
    }
  }
}

static void add_files(const struct json *answer, struct json *content) {
  const struct json *files = json_get(answer, "files");
  const char *task = json_get_text(answer, "task");
  size_t linked = 0;
  for (size_t i = 0; i < json_length(files) && linked < FILES_MOST; i++) {
    const struct json *file = json_at(files, i);
    const char *path = beneath_task(json_get_text(file, "uri"));
    if (path == NULL)
      continue;
    json_push(content, content_link(task, path, json_get_text(file, "mime"),
                                    json_get_integer(file, "bytes", -1)));
    linked++;
  }
}

static struct json *in_short(const struct json *answer) {
  static const char *const words[] = {"run", "task", "status",
                                      "execution_count"};
  struct json *brief = json_object();
  for (size_t i = 0; i < COUNT_OF(words); i++)
    json_set(brief, words[i], json_share(json_get(answer, words[i])));
  json_set_text(brief, "variables",
                json_get_text(json_get(answer, "kernel"), "state"));
  json_set_text(brief, "error",
                json_get_text(json_get(answer, "error"), "ename"));
  return brief;
}

struct json *content_of_run(const struct json *answer, size_t images) {
  struct json *content = json_array();
  json_push(content, first_text(answer));
  add_images(answer, images, content);
  add_files(answer, content);
  const char *path = beneath_task(json_get_text(answer, "notebook"));
  if (path != NULL)
    json_push(content, content_link(json_get_text(answer, "task"), path,
                                    "application/x-ipynb+json", -1));
  struct json *result = result_of(content, !is_ok(answer));
  json_set(result, "structuredContent", in_short(answer));
  return result;
}

/* The end of a text that has no bound yet. */
static const char *last_part(const char *text) {
  size_t length = strlen(text);
  if (length <= OUTPUT_MOST)
    return text;
  text += length - OUTPUT_MOST;
  while (utf8_is_continuation(*text))
    text++;
  return text;
}

struct json *content_of_unfinished(const struct json *run) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  static const char *const streams[] = {"stdout", "stderr"};
  const char *id = json_get_text(run, "run");
  const char *status = json_get_text(run, "status");
  buf_format(&text,
             "The cell is still %s. It goes on; call `result` with run \"%s\" "
             "to wait for it, or `interrupt` to stop it.",
             status == NULL ? "running" : status, id == NULL ? "" : id);
  for (size_t i = 0; i < COUNT_OF(streams); i++) {
    const char *said = json_get_text(run, streams[i]);
    if (said != NULL && *said != '\0')
      buf_format(&text, "\n%s so far:\n%s", streams[i], last_part(said));
  }
  struct json *result = content_of_text(buf_string(&text), false);
  json_set(result, "structuredContent", in_short(run));
  return result;
}
