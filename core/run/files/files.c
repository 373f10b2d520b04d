#include "core/run/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/workspace.h"
#include "core/run/engine/engine_private.h"
#include "core/run/files/files_place.h"
#include "core/run/files/files_quota.h"

#define NAMES_MOST 100000 /* of a directory; more are not looked at */

/* For a task that is not in the registry what stands on disk counts. */
static int open_stray(struct engine *engine, const char *task,
                      struct err *err) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/" LAYOUT_FILES, task);
  return fs_open_beneath(engine->tasks_directory, path, O_RDONLY | O_DIRECTORY,
                         0, err);
}

static int open_files(struct engine *engine, const char *task, bool stray,
                      struct err *err) {
  if (stray)
    return open_stray(engine, task, err);
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (files_place_open(engine, task, NULL, &place, err) < 0)
    return -1;
  return mem_steal_descriptor(&place.files);
}

/* The web server serves no such name. */
static bool is_hidden(const char *path) {
  return *path == '.' || strstr(path, "/.") != NULL;
}

static struct json *describe(struct engine *engine, int files, const char *task,
                             const char *path, const struct stat *status) {
  const char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  bool is_directory = S_ISDIR(status->st_mode);
  struct json *entry = json_object();
  json_set_text(entry, "name", name);
  json_set_text(entry, "kind", is_directory ? "directory" : "file");
  if (!is_directory) {
    char type[MIME_SIZE];
    CLEANUP(mem_close_descriptor)
    int file =
        fs_open_beneath(files, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, NULL);
    pthread_mutex_lock(&engine->mime_mutex);
    if (file >= 0)
      mime_of_file(engine->mime, file, name, type);
    else
      mime_of_bytes(NULL, "", 0, name, type);
    pthread_mutex_unlock(&engine->mime_mutex);
    json_set_text(entry, "mime", type);
    json_set_integer(entry, "bytes", status->st_size);
    if (!is_hidden(path))
      workspace_set_uri(entry, task, path);
  }
  char text[CLOCK_ISO_SIZE];
  clock_format_iso((int64_t)status->st_mtim.tv_sec * 1000000 +
                       status->st_mtim.tv_nsec / 1000,
                   text);
  json_set_text(entry, "modified", text);
  return entry;
}

struct names {
  char **list;
  size_t count;
};

static void names_free(struct names *names) {
  for (size_t i = 0; i < names->count; i++)
    free(names->list[i]);
  free(names->list);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes the descriptor. */
static int read_names(int directory, const struct files_query *query,
                      struct names *names, struct err *err) {
  DIR *stream = fdopendir(directory);
  if (stream == NULL) {
    close(directory);
    return err_errno(err, ERR_IO, errno, "cannot list the directory");
  }
  for (const struct dirent *entry;
       names->count < NAMES_MOST && (entry = readdir(stream)) != NULL;) {
    if (!files_place_is_name(entry->d_name) ||
        (entry->d_name[0] == '.' && !query->hidden) ||
        (query->after != NULL && strcmp(entry->d_name, query->after) <= 0))
      continue;
    names->list = mem_grow(names->list, names->count + 1, sizeof *names->list);
    names->list[names->count++] = mem_copy_text(entry->d_name);
  }
  closedir(stream);
  if (names->count != 0)
    qsort(names->list, names->count, sizeof *names->list, compare_names);
  return 0;
}

static bool is_listed(int files, const char *path, struct stat *status) {
  CLEANUP(mem_close_descriptor)
  int place = fs_open_beneath(files, path, O_PATH | O_NOFOLLOW, 0, NULL);
  return place >= 0 && fstat(place, status) == 0 &&
         (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

/* Fills `entries`; the name to go on after, or NULL. */
static const char *list_names(struct engine *engine, int files,
                              const char *task, const struct files_query *query,
                              const struct names *names, struct json *entries) {
  for (size_t i = 0; i < names->count; i++) {
    struct stat status;
    CLEANUP(mem_free_pointer)
    char *whole = mem_format("%s%s%s", query->path,
                             *query->path == '\0' ? "" : "/", names->list[i]);
    if (json_length(entries) == (size_t)query->limit)
      return json_get_text(json_at(entries, json_length(entries) - 1), "name");
    if (is_listed(files, whole, &status))
      json_push(entries, describe(engine, files, task, whole, &status));
  }
  return NULL;
}

int files_list(struct engine *engine, const char *task,
               const struct files_query *query, struct json **ret,
               struct err *err) {
  const char *path = query->path;
  CLEANUP(mem_close_descriptor)
  int files = open_files(engine, task, query->stray, err);
  if (files < 0 || (*path != '\0' && files_place_check(path, err) < 0))
    return -1;
  int directory = fs_open_beneath(files, *path == '\0' ? "." : path,
                                  O_RDONLY | O_DIRECTORY, 0, err);
  CLEANUP(names_free) struct names names = {0};
  if (directory < 0 || read_names(directory, query, &names, err) < 0)
    return -1;
  struct json *entries = json_array();
  const char *next = list_names(engine, files, task, query, &names, entries);
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set_text(*ret, "path", path);
  json_set_text(*ret, "next", next);
  json_set(*ret, "entries", entries);
  return 0;
}

int files_read(struct engine *engine, const char *task, const char *path,
               struct buf *ret, char mime[MIME_SIZE], struct err *err) {
  struct stat status;
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (files_place_check(path, err) < 0 ||
      files_place_open(engine, task, NULL, &place, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file = fs_open_beneath(place.task, path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                             0, err);
  if (file < 0)
    return -1;
  if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
    return err_set(err, ERR_NOT_FOUND, "%.200s is no file", path);
  if ((uintmax_t)status.st_size > ret->limit)
    return err_set(err, ERR_TOO_LARGE,
                   "%.200s has %lld bytes; at most %zu are given this way",
                   path, (long long)status.st_size, ret->limit);
  const char *slash = strrchr(path, '/');
  pthread_mutex_lock(&engine->mime_mutex);
  mime_of_file(engine->mime, file, slash == NULL ? path : slash + 1, mime);
  pthread_mutex_unlock(&engine->mime_mutex);
  return fs_read_all(file, ret, err);
}

/* Whether so many bytes fit at `path`, in place of what stands there. */
static int check_room(struct engine *engine, const char *task, int files,
                      const char *path, size_t length, struct json **details,
                      struct err *err) {
  struct files_quota quota;
  if (files_quota_open(engine, task, files, &quota, err) < 0)
    return -1;
  return files_quota_check(
      &quota, files_quota_of_file(files, path, (int64_t)length), details, err);
}

int files_put(struct engine *engine, const char *task, const char *path,
              const char *by, const void *bytes, size_t length,
              struct json **ret, struct json **details, struct err *err) {
  const char *name = path;
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (files_place_check(path, err) < 0 ||
      files_place_open(engine, task, by, &place, err) < 0 ||
      files_place_lock(&place, err) < 0 ||
      check_room(engine, task, place.files, path, length, details, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int parent = files_place_open_parent(place.files, path, &name, err);
  if (parent < 0)
    return -1;
  struct stat status;
  bool was_there = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (was_there && S_ISDIR(status.st_mode))
    return err_set(err, ERR_CONFLICT, "a directory stands there");
  const struct iovec part = {.iov_base = (void *)(uintptr_t)bytes,
                             .iov_len = length};
  if (fs_write_atomic(parent, name, 0664, &part, 1, FS_SYNC_NONE, err) < 0)
    return -1;
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
    return err_errno(err, ERR_IO, errno, "the file is gone again");
  *ret = describe(engine, place.files, task, path, &status);
  return was_there ? 0 : 1;
}

int files_delete(struct engine *engine, const char *task, const char *path,
                 struct json **ret, struct err *err) {
  if (files_place_check(path, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int files = open_files(engine, task, false, err);
  if (files < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int place = fs_open_beneath(files, path, O_PATH | O_NOFOLLOW, 0, err);
  if (place < 0 || fs_remove_tree(files, path, err) < 0)
    return -1;
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set_text(*ret, "path", path);
  json_set_boolean(*ret, "deleted", true);
  return 0;
}
