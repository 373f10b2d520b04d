#include "core/run/collect/artifacts.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"

void artifacts_sync_later(struct engine *engine, int task_directory,
                          const struct media *media, size_t count) {
  if (engine->later == NULL || count == 0)
    return;
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_beneath(task_directory, LAYOUT_ARTIFACTS,
                                  O_RDONLY | O_DIRECTORY, 0, NULL);
  for (size_t i = 0; directory >= 0 && i < count; i++) {
    CLEANUP(mem_close_descriptor)
    int file = fs_open_beneath(directory, media[i].name, O_RDONLY | O_NONBLOCK,
                               0, NULL);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0)
      fs_later_add(engine->later, &status, file, directory);
  }
}

struct json *artifacts_list_images(const char *task, const struct media *media,
                                   size_t count) {
  struct json *images = json_array();
  for (size_t i = 0; i < count; i++) {
    if (!media[i].image || media[i].output == SIZE_MAX)
      continue;
    struct json *image = json_object();
    CLEANUP(mem_free_pointer)
    char *uri = mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_ARTIFACTS "/%s", task,
                           media[i].name);
    json_set_text(image, "mime", media[i].mime);
    json_set_text(image, "uri", uri);
    bool sized = media[i].width != 0 && media[i].height != 0;
    json_set(image, "width", sized ? json_integer(media[i].width) : NULL);
    json_set(image, "height", sized ? json_integer(media[i].height) : NULL);
    json_set_integer(image, "bytes", media[i].bytes);
    json_set_text(image, "sha256", media[i].sha256);
    json_set_integer(image, "output", (int64_t)media[i].output);
    json_push(images, image);
  }
  return images;
}

struct json *artifacts_refer(const struct json *outputs,
                             const struct media *media, size_t count) {
  if (count == 0)
    return json_share(outputs);
  struct json *copy = json_copy(outputs);
  for (size_t i = 0; i < count; i++) {
    struct json *data = json_get(json_at(copy, media[i].output), "data");
    if (!json_has(data, media[i].mime))
      continue; /* too large for the outputs */
    struct json *reference = json_object();
    json_set_text(reference, "artifact", media[i].name);
    json_set(data, media[i].mime, reference);
  }
  return copy;
}

/* The artifact named by a reference, or NULL when the value is none: a JSON
 * output of the user's may look alike, but hardly with a digest in it. */
static const char *reference_name(const struct json *value) {
  if (json_kind(value) != JSON_OBJECT || json_length(value) != 1)
    return NULL;
  const char *name = json_get_text(value, "artifact");
  if (name == NULL || strspn(name, "0123456789abcdef") != 64 || name[64] != '.')
    return NULL;
  return name;
}

static struct json *load(int task_directory, const char *name,
                         const char *mime) {
  CLEANUP(buf_free) struct buf content = BUF_INIT(BUF_ANSWER);
  struct err err = {0};
  if (task_directory < 0 ||
      media_load(task_directory, name, mime, &content, &err) < 0)
    return NULL;
  return json_string_n(buf_string(&content), content.length);
}

static void resolve_data(int task_directory, struct json *data) {
  void *state = NULL;
  const char *mime;
  struct json *value;
  CLEANUP(json_done) struct json *found = json_object();
  while (json_next(data, &state, &mime, &value)) {
    const char *name = reference_name(value);
    if (name != NULL)
      json_set(found, mime, load(task_directory, name, mime));
  }
  state = NULL;
  while (json_next(found, &state, &mime, &value)) {
    if (value != NULL) {
      json_set(data, mime, json_share(value));
      continue;
    }
    json_remove(data, mime);
    if (!json_has(data, "text/plain"))
      json_set_text(data, "text/plain", "[the artifact was removed]");
  }
}

struct json *artifacts_resolve(int task_directory, const struct json *outputs) {
  struct json *copy = json_copy(outputs);
  for (size_t i = 0; i < json_length(copy); i++)
    resolve_data(task_directory, json_get(json_at(copy, i), "data"));
  return copy;
}
