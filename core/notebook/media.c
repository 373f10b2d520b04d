#include "core/notebook/media.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define LARGE_VALUE ((size_t)64 << 10)
#define DIRECTORY "artifacts"

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool is_json_type(const char *mime) {
  size_t length = strlen(mime);
  return strcmp(mime, "application/json") == 0 ||
         (length > 5 && strcmp(mime + length - 5, "+json") == 0);
}

/* Which types stand as text in a mimebundle; all others are base64
 * (nbformat_description.rst, "display_data"). */
static bool is_text_type(const char *mime) {
  return starts_with(mime, "text/") || strcmp(mime, "image/svg+xml") == 0 ||
         strcmp(mime, "application/javascript") == 0 ||
         strcmp(mime, "application/xml") == 0 || is_json_type(mime);
}

bool media_is_stored(const char *mime, size_t value_bytes) {
  if (strcmp(mime, "text/plain") == 0)
    return false;
  return starts_with(mime, "image/") || strcmp(mime, "application/pdf") == 0 ||
         strcmp(mime, "text/html") == 0 || value_bytes > LARGE_VALUE;
}

static int open_directory(int task_directory, struct err *err) {
  int directory = fs_make_and_open(task_directory, DIRECTORY, 0755, err);
  return directory < 0 ? err_wrap(err, "artifacts") : directory;
}

/* An artifact is named by its content: one that is there already is the same,
 * unless a crash cut it short, which its size tells. */
static bool is_there(int directory, const char *name, size_t size) {
  struct stat status;
  return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == (off_t)size;
}

static int store_bytes(int directory, const char *mime, const void *bytes,
                       size_t size, enum fs_sync sync, struct media *ret,
                       struct err *err) {
  struct media media = {.bytes = (int64_t)size,
                        .image = starts_with(mime, "image/")};
  crypto_sha256(bytes, size, media.sha256);
  snprintf(media.mime, sizeof media.mime, "%s", mime);
  snprintf(media.name, sizeof media.name, "%.64s.%.24s", media.sha256,
           mime_extension(mime));
  if (media.image)
    mime_image_size(bytes, size, &media.width, &media.height);
  if (!is_there(directory, media.name, size)) {
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    if (fs_write_atomic(directory, media.name, 0644, &part, 1, sync, err) < 0)
      return err_wrap(err, "artifact %s", media.name);
  }
  *ret = media;
  return 0;
}

/* 1 when stored, 0 when the value is not what its type says. */
static int store_value(int directory, const char *mime,
                       const struct json *value, enum fs_sync sync,
                       struct media *ret, struct err *err) {
  size_t length = json_text_length(value);
  if (is_text_type(mime))
    return store_bytes(directory, mime, json_text(value), length, sync, ret,
                       err) < 0
               ? -1
               : 1;
  struct buf CLEANUP(buf_free) bytes = BUF_INIT(length + 4);
  if (crypto_base64_decode(json_text(value), length, &bytes) < 0 ||
      bytes.length == 0)
    return 0;
  return store_bytes(directory, mime, buf_string(&bytes), bytes.length, sync,
                     ret, err) < 0
             ? -1
             : 1;
}

struct gathering {
  int task_directory;
  int directory; /* artifacts/, or -1 while none was needed */
  enum fs_sync sync;
  struct media *list;
  size_t count;
};

static int gather(struct gathering *g, size_t output, const struct json *data,
                  struct err *err) {
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(data, &state, &mime, &value)) {
    if (json_text(value) == NULL || strlen(mime) >= MIME_SIZE ||
        !media_is_stored(mime, json_text_length(value)))
      continue;
    if (g->directory < 0)
      g->directory = open_directory(g->task_directory, err);
    if (g->directory < 0)
      return -1;
    struct media media;
    int stored = store_value(g->directory, mime, value, g->sync, &media, err);
    if (stored < 0)
      return -1;
    if (stored == 0)
      continue;
    media.output = output;
    g->list = mem_grow(g->list, g->count + 1, sizeof *g->list);
    g->list[g->count++] = media;
  }
  return 0;
}

int media_store(int task_directory, const struct json *outputs,
                enum fs_sync sync, struct media **ret, size_t *count,
                struct err *err) {
  struct gathering g = {
      .task_directory = task_directory, .directory = -1, .sync = sync};
  int result = 0;
  for (size_t i = 0; result == 0 && i < json_length(outputs); i++)
    result = gather(&g, i, json_get(json_at(outputs, i), "data"), err);
  mem_close_descriptor(&g.directory);
  if (result < 0) {
    free(g.list);
    return -1;
  }
  *ret = g.list;
  *count = g.count;
  return 0;
}

int media_store_text(int task_directory, const char *mime, const char *text,
                     size_t length, enum fs_sync sync, struct media *ret,
                     struct err *err) {
  int CLEANUP(mem_close_descriptor) directory =
      open_directory(task_directory, err);
  if (directory < 0)
    return -1;
  return store_bytes(directory, mime, text, length, sync, ret, err);
}

int media_load(int task_directory, const char *name, const char *mime,
               struct buf *out, struct err *err) {
  char *CLEANUP(mem_free_pointer) path = mem_format(DIRECTORY "/%s", name);
  struct buf CLEANUP(buf_free) bytes = BUF_INIT(BUF_ANSWER);
  if (fs_read_file(task_directory, path, &bytes, err) < 0)
    return -1;
  int result =
      is_text_type(mime)
          ? buf_append(out, buf_string(&bytes), bytes.length)
          : crypto_base64_encode(buf_string(&bytes), bytes.length, out);
  return result < 0 ? err_set(err, ERR_TOO_LARGE, "artifact %s", name) : 0;
}
