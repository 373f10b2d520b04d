#include "core/run/files/files_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/files/files_place.h"
#include "core/run/files/files_quota.h"

#define PIECE ((size_t)64 << 10)
#define ENTRIES_MOST 100000
#define PATH_MOST 4000
#define DEPTH_MOST 64

/* What an archive holds, in its order; files are staged under their index. */
struct staged {
  char *path;
  bool is_directory;
};

struct unpacking {
  struct files_place place;
  struct files_quota quota;
  const char *into; /* the directory that receives it, "": files/ */
  int stage;        /* a directory of its own beside files/ */
  struct staged *list;
  size_t count, capacity;
  struct fs_usage needed;
  int64_t files, directories, bytes;
};

static void unpacking_free(struct unpacking *work) {
  for (size_t i = 0; i < work->count; i++)
    free(work->list[i].path);
  free(work->list);
  if (work->stage >= 0)
    fs_remove_tree(work->place.task, LAYOUT_UPLOAD, NULL);
  mem_close_descriptor(&work->stage);
  files_place_close(&work->place);
}

/* "./a//b/" is "a/b", as tar writes it; an absolute path and ".." are refused.
 * NULL: refused. "": the directory itself. */
static char *clean_path(const char *path, struct err *err) {
  CLEANUP(buf_free) struct buf clean = BUF_INIT(PATH_MOST);
  CLEANUP(mem_free_pointer) char *parts = mem_copy_text(path);
  char *rest = parts;
  size_t depth = 0;
  bool right = parts != NULL && *parts != '/';
  for (char *part; right && (part = strsep(&rest, "/")) != NULL;) {
    if (*part == '\0' || strcmp(part, ".") == 0)
      continue;
    right = files_place_is_name(part) && ++depth <= DEPTH_MOST &&
            buf_format(&clean, "%s%s", clean.length == 0 ? "" : "/", part) >= 0;
  }
  if (right)
    return buf_take(&clean);
  char text[FS_PRINTABLE];
  err_set(err, ERR_INVALID,
          "the archive's entry \"%s\" has no name that can be taken: relative, "
          "in UTF-8, without \"..\" and control characters, at most %d levels "
          "deep",
          path == NULL ? "?" : fs_printable(path, text), DEPTH_MOST);
  return NULL;
}

static int check_entry(const struct pack_entry *entry, const char *path,
                       struct err *err) {
  char text[FS_PRINTABLE];
  fs_printable(path, text);
  if (entry->kind == PACK_OTHER || (*path == '\0' && entry->kind == PACK_FILE))
    return err_set(err, ERR_INVALID,
                   "the archive's entry \"%s\" is neither a file nor a "
                   "directory; links and devices are not taken",
                   text);
  if (entry->kind == PACK_FILE && entry->size < 0)
    return err_set(err, ERR_INVALID,
                   "the archive's entry \"%s\" does not tell its size", text);
  return 0;
}

/* What it adds, and whether it can stand where another thing may stand. */
static int add_needed(struct unpacking *work, const struct staged *staged,
                      int64_t bytes, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s%s%s", work->into, *work->into == '\0' ? "" : "/",
                          staged->path);
  struct fs_usage more = files_quota_of_file(work->place.files, path, bytes);
  work->needed.bytes += more.bytes;
  work->needed.files += more.files;
  CLEANUP(mem_close_descriptor)
  int there =
      fs_open_beneath(work->place.files, path, O_PATH | O_NOFOLLOW, 0, NULL);
  struct stat status;
  char text[FS_PRINTABLE];
  if (there < 0 || *path == '\0' || fstat(there, &status) < 0 ||
      S_ISDIR(status.st_mode) == staged->is_directory)
    return 0;
  return err_set(err, ERR_CONFLICT,
                 "the archive has a %s \"%s\", where something else stands",
                 staged->is_directory ? "directory" : "file",
                 fs_printable(path, text));
}

static int note_entry(struct unpacking *work, const struct pack_entry *entry,
                      struct err *err) {
  CLEANUP(mem_free_pointer) char *path = clean_path(entry->path, err);
  if (path == NULL || check_entry(entry, path, err) < 0)
    return -1;
  if (work->count == ENTRIES_MOST)
    return err_set(err, ERR_TOO_LARGE, "the archive has over %d entries",
                   ENTRIES_MOST);
  if (work->count == work->capacity) {
    work->capacity = 2 * work->capacity + 16;
    work->list = mem_grow(work->list, work->capacity, sizeof *work->list);
  }
  bool is_directory = entry->kind == PACK_DIRECTORY;
  struct staged *staged = &work->list[work->count++];
  *staged = (struct staged){MEM_STEAL(path), is_directory};
  work->directories += is_directory;
  work->files += !is_directory;
  work->bytes += is_directory ? 0 : entry->size;
  return add_needed(work, staged, is_directory ? 1 : entry->size, err);
}

/* Before anything is unpacked: every name, and whether it fits. */
static int look_through(struct unpacking *work,
                        const struct files_archive *archive,
                        struct json **details, struct err *err) {
  CLEANUP(pack_reader_done) struct pack_reader *reader = NULL;
  struct pack_entry entry;
  int result = pack_reader_open(archive->format, archive->bytes,
                                archive->length, &reader, err);
  while (result >= 0 && (result = pack_reader_next(reader, &entry, err)) == 1)
    if (note_entry(work, &entry, err) < 0 ||
        files_quota_check(&work->quota, work->needed, details, err) < 0)
      return -1;
  return result;
}

/* A process that died may have left one behind. */
static int open_stage(struct unpacking *work, struct err *err) {
  if (fs_remove_tree(work->place.task, LAYOUT_UPLOAD, err) < 0)
    return -1;
  work->stage = fs_make_and_open(work->place.task, LAYOUT_UPLOAD, 0700, err);
  return work->stage < 0 ? -1 : 0;
}

/* Not more than it said: that is what was checked. */
static int unpack_file(struct unpacking *work, struct pack_reader *reader,
                       const struct pack_entry *entry, const char *name,
                       struct err *err) {
  char bytes[PIECE];
  int64_t left = entry->size, got;
  CLEANUP(mem_close_descriptor)
  int file = fs_open_beneath(work->stage, name, O_WRONLY | O_CREAT | O_EXCL,
                             0600, err);
  if (file < 0)
    return -1;
  while ((got = pack_reader_read(reader, bytes, sizeof bytes, err)) > 0) {
    left -= got;
    if (left < 0)
      return err_set(err, ERR_INVALID,
                     "an entry of the archive is larger than it says");
    if (fs_write_all(file, bytes, (size_t)got, err) < 0)
      return -1;
  }
  if (got == 0 && fchmod(file, entry->executable ? 0775 : 0664) < 0)
    return err_errno(err, ERR_IO, errno, "cannot set the mode of a file");
  return got < 0 ? -1 : 0;
}

static int unpack(struct unpacking *work, const struct files_archive *archive,
                  struct err *err) {
  CLEANUP(pack_reader_done) struct pack_reader *reader = NULL;
  struct pack_entry entry;
  int result = pack_reader_open(archive->format, archive->bytes,
                                archive->length, &reader, err);
  for (size_t i = 0; result >= 0 && i < work->count; i++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", i);
    result = pack_reader_next(reader, &entry, err);
    if (result == 1 && !work->list[i].is_directory)
      result = unpack_file(work, reader, &entry, name, err);
  }
  return result < 0 ? -1 : 0;
}

static int put_one(const struct unpacking *work, int into, size_t index,
                   struct err *err) {
  const struct staged *staged = &work->list[index];
  const char *name;
  char from[32];
  if (*staged->path == '\0')
    return 0;
  CLEANUP(mem_close_descriptor)
  int parent = files_place_open_parent(into, staged->path, &name, err);
  if (parent < 0)
    return -1;
  snprintf(from, sizeof from, "%zu", index);
  if (!staged->is_directory && renameat(work->stage, from, parent, name) == 0)
    return 0;
  CLEANUP(mem_close_descriptor)
  int made =
      staged->is_directory ? fs_make_and_open(parent, name, 0775, err) : -1;
  if (made >= 0)
    return 0;
  char text[FS_PRINTABLE];
  if (staged->is_directory)
    return -1;
  return err_set(err, ERR_CONFLICT, "%s cannot be put there: %s",
                 fs_printable(staged->path, text), strerror(errno));
}

static int put_all(struct unpacking *work, struct err *err) {
  CLEANUP(mem_free_pointer) char *within = mem_format("%s/.", work->into);
  const char *unused;
  CLEANUP(mem_close_descriptor)
  int into =
      *work->into == '\0'
          ? dup(work->place.files)
          : files_place_open_parent(work->place.files, within, &unused, err);
  int result = into < 0 ? -1 : 0;
  for (size_t i = 0; result >= 0 && i < work->count; i++)
    result = put_one(work, into, i, err);
  return result;
}

int files_archive_unpack(struct engine *engine, const char *task,
                         const char *path, const char *by,
                         const struct files_archive *archive, struct json **ret,
                         struct json **details, struct err *err) {
  CLEANUP(unpacking_free)
  struct unpacking work = {.place = {-1, -1}, .into = path, .stage = -1};
  if ((*path != '\0' && files_place_check(path, err) < 0) ||
      files_place_open(engine, task, by, &work.place, err) < 0 ||
      files_place_lock(&work.place, err) < 0 ||
      files_quota_open(engine, task, work.place.files, &work.quota, err) < 0 ||
      look_through(&work, archive, details, err) < 0 ||
      open_stage(&work, err) < 0 || unpack(&work, archive, err) < 0 ||
      put_all(&work, err) < 0)
    return -1;
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set_text(*ret, "path", path);
  json_set_integer(*ret, "files", work.files);
  json_set_integer(*ret, "directories", work.directories);
  json_set_integer(*ret, "bytes", work.bytes);
  return 0;
}
