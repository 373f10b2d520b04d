#include "core/notebook/media.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/mimebundle.h"
#include "core/text/string.h"

/* The task's artifacts directory; made when it is missing. */
static int open_artifacts(int task_directory, struct err *err) {
  return fs_make_and_open(task_directory, LAYOUT_ARTIFACTS, 0755, err);
}

/* Its time is renewed, so that a clean-up, which takes only old files that the
 * registry does not know, leaves it until the registry does. */
static bool is_there(int artifacts, const struct media *media) {
  struct stat status;
  return fstatat(artifacts, media->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == media->bytes &&
         media_renew(artifacts, media->name);
}

bool media_renew(int artifacts, const char *name) {
  return utimensat(artifacts, name, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Fills in what the content tells, and writes it unless it is there. */
static int store(int artifacts, const char *mime, const char *content,
                 size_t length, enum fs_sync sync, struct media *ret,
                 struct err *err) {
  struct media media = {.bytes = (int64_t)length,
                        .image = string_starts_with(mime, "image/")};
  crypto_sha256(content, length, media.sha256);
  snprintf(media.mime, sizeof media.mime, "%s", mime);
  snprintf(media.name, sizeof media.name, "%s.%.16s", media.sha256,
           mime_extension(mime));
  if (media.image)
    mime_image_size(content, length, &media.width, &media.height);
  struct iovec part = {.iov_base = (void *)(uintptr_t)content,
                       .iov_len = length};
  if (!is_there(artifacts, &media) &&
      fs_write_atomic(artifacts, media.name, 0644, &part, 1, sync, err) < 0)
    return err_wrap(err, "storing an output of type %.60s", mime);
  *ret = media;
  return 0;
}

/* Stores a value as it stands in a mimebundle: 1, or 0 when it should be base64
 * and is not. */
static int store_value(int artifacts, const char *mime, const char *value,
                       size_t length, enum fs_sync sync, struct media *ret,
                       struct err *err) {
  CLEANUP(buf_free) struct buf decoded = BUF_INIT(BUF_KERNEL_MESSAGE);
  if (mimebundle_is_base64(mime)) {
    if (crypto_base64_decode(value, length, &decoded) < 0 ||
        decoded.length == 0)
      return 0;
    value = decoded.data;
    length = decoded.length;
  }
  return store(artifacts, mime, value, length, sync, ret, err) < 0 ? -1 : 1;
}

static void add_media(struct media **list, size_t *count,
                      const struct media *media) {
  *list = mem_grow(*list, *count + 1, sizeof **list);
  (*list)[(*count)++] = *media;
}

struct store_list {
  int task_directory;
  int artifacts; /* -1 until one is needed */
  enum fs_sync sync;
  struct media *media;
  size_t count;
};

static int store_bundle(struct store_list *list, const struct json *data,
                        size_t output, struct err *err) {
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(data, &state, &mime, &value)) {
    const char *text = json_text(value);
    size_t length = json_text_length(value);
    if (text == NULL || mimebundle_is_json(mime) || strlen(mime) >= MIME_SIZE ||
        !mimebundle_is_artifact(mime, length))
      continue;
    if (list->artifacts < 0)
      list->artifacts = open_artifacts(list->task_directory, err);
    struct media media;
    int stored = list->artifacts < 0
                     ? -1
                     : store_value(list->artifacts, mime, text, length,
                                   list->sync, &media, err);
    if (stored < 0)
      return -1;
    media.output = output;
    if (stored > 0)
      add_media(&list->media, &list->count, &media);
  }
  return 0;
}

int media_store(int task_directory, const struct json *outputs,
                enum fs_sync sync, struct media **ret, size_t *count,
                struct err *err) {
  struct store_list list = {
      .task_directory = task_directory, .artifacts = -1, .sync = sync};
  int result = 0;
  for (size_t i = 0; result == 0 && i < json_length(outputs); i++)
    result = store_bundle(&list, json_get(json_at(outputs, i), "data"), i, err);
  mem_close_descriptor(&list.artifacts);
  if (result < 0) {
    free(list.media);
    return -1;
  }
  *ret = list.media;
  *count = list.count;
  return 0;
}

char *media_spill(void *context, const char *mime, const char *value,
                  size_t length) {
  struct media_spill *spill = context;
  struct media media;
  if (spill->count >= spill->most || strlen(mime) >= MIME_SIZE)
    return NULL;
  CLEANUP(mem_close_descriptor)
  int artifacts = open_artifacts(spill->task_directory, NULL);
  if (artifacts < 0 || store_value(artifacts, mime, value, length, spill->sync,
                                   &media, NULL) <= 0)
    return NULL;
  add_media(&spill->media, &spill->count, &media);
  return mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_ARTIFACTS "/%s", spill->task,
                    media.name);
}

void media_spill_free(struct media_spill *spill) {
  free(spill->media);
  spill->media = NULL;
  spill->count = 0;
}

int media_store_text(int task_directory, const char *mime, const char *text,
                     size_t length, enum fs_sync sync, struct media *ret,
                     struct err *err) {
  CLEANUP(mem_close_descriptor)
  int artifacts = open_artifacts(task_directory, err);
  if (artifacts < 0)
    return -1;
  return store(artifacts, mime, text, length, sync, ret, err);
}

int media_load(int task_directory, const char *name, const char *mime,
               struct buf *out, struct err *err) {
  if (!fs_is_name(name))
    return err_set(err, ERR_NOT_FOUND, "there is no such artifact");
  CLEANUP(mem_free_pointer)
  char *path = mem_format(LAYOUT_ARTIFACTS "/%s", name);
  if (!mimebundle_is_base64(mime))
    return fs_read_file(task_directory, path, out, err);
  CLEANUP(buf_free) struct buf content = BUF_INIT(BUF_KERNEL_MESSAGE);
  if (fs_read_file(task_directory, path, &content, err) < 0)
    return -1;
  size_t before = out->length;
  if (crypto_base64_encode(buf_string(&content), content.length, out) == 0)
    return 0;
  buf_truncate(out, before);
  return err_set(err, ERR_TOO_LARGE, "the artifact %.80s is too large", name);
}
