#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/run/files/files_archive.h"
#include "core/run/files/files_place.h"

#define DEPTH_MOST 64

/* Names that wait to be packed, relative to files/, the next one last. */
struct waiting {
  char **paths;
  size_t count, capacity;
};

static void waiting_free(struct waiting *waiting) {
  for (size_t i = 0; i < waiting->count; i++)
    free(waiting->paths[i]);
  free(waiting->paths);
}

static void push(struct waiting *waiting, char *path) {
  if (waiting->count == waiting->capacity) {
    waiting->capacity = 2 * waiting->capacity + 16;
    waiting->paths =
        mem_grow(waiting->paths, waiting->capacity, sizeof *waiting->paths);
  }
  waiting->paths[waiting->count++] = path;
}

/* From last to first, so that they are packed in order. */
static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)b, *(char *const *)a);
}

static size_t depth_of(const char *path) {
  size_t depth = 0;
  for (; *path != '\0'; path++)
    depth += *path == '/';
  return depth;
}

/* Takes the descriptor. */
static void push_names(struct waiting *waiting, int directory,
                       const char *path) {
  size_t first = waiting->count;
  DIR *stream = fdopendir(directory);
  if (stream == NULL) {
    close(directory);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
    if (files_place_is_name(entry->d_name))
      push(waiting,
           mem_format("%s%s%s", path, *path == '\0' ? "" : "/", entry->d_name));
  closedir(stream);
  if (waiting->count > first)
    qsort(waiting->paths + first, waiting->count - first,
          sizeof *waiting->paths, compare);
}

/* What cannot be opened has gone, or may not be read: it is left out. */
static int pack_one(struct pack_writer *writer, struct waiting *waiting,
                    int files, const char *path, size_t within,
                    struct err *err) {
  CLEANUP(mem_close_descriptor)
  int opened =
      fs_open_beneath(files, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, NULL);
  struct stat status;
  if (opened < 0 || fstat(opened, &status) < 0)
    return 0;
  if (S_ISREG(status.st_mode))
    return pack_writer_add_file(writer, path + within, opened, &status, err);
  if (!S_ISDIR(status.st_mode) || depth_of(path) >= DEPTH_MOST)
    return 0;
  if (pack_writer_add_directory(writer, path + within, &status, err) < 0)
    return -1;
  push_names(waiting, mem_steal_descriptor(&opened), path);
  return 0;
}

int files_archive_pack(struct engine *engine, const char *task,
                       const char *path, enum pack_format format,
                       pack_sink *sink, void *context, struct err *err) {
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if ((*path != '\0' && files_place_check(path, err) < 0) ||
      files_place_open(engine, task, NULL, &place, err) < 0)
    return -1;
  int directory = fs_open_beneath(place.files, *path == '\0' ? "." : path,
                                  O_RDONLY | O_DIRECTORY, 0, err);
  if (directory < 0)
    return -1;
  CLEANUP(waiting_free) struct waiting waiting = {0};
  CLEANUP(pack_writer_done) struct pack_writer *writer = NULL;
  push_names(&waiting, directory, path);
  if (pack_writer_open(format, sink, context, &writer, err) < 0)
    return -1;
  size_t within = *path == '\0' ? 0 : strlen(path) + 1;
  while (waiting.count > 0) {
    CLEANUP(mem_free_pointer) char *next = waiting.paths[--waiting.count];
    if (pack_one(writer, &waiting, place.files, next, within, err) < 0)
      return -1;
  }
  return pack_writer_finish(writer, err);
}
