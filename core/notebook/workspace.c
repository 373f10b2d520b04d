#include "core/notebook/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

struct file {
  char *path;
  uint64_t inode;
  int64_t size;
  struct timespec modified, changed; /* mtime, ctime */
};

struct workspace {
  struct file *files; /* sorted by path */
  size_t count, capacity;
  struct timespec began; /* file times lag behind it by up to a tick */
  bool cut, barred;
};

/* The directories that are still to be looked at. */
struct queue {
  char **paths;
  size_t first, count, capacity;
};

struct scan {
  int root;
  size_t left; /* entries that may still be looked at */
  struct workspace *workspace;
  struct queue queue;
};

void workspace_free(struct workspace *workspace) {
  if (workspace == NULL)
    return;
  for (size_t i = 0; i < workspace->count; i++)
    free(workspace->files[i].path);
  free(workspace->files);
  free(workspace);
}

void workspace_done(struct workspace **workspace) {
  workspace_free(*workspace);
  *workspace = NULL;
}

bool workspace_was_cut(const struct workspace *workspace) {
  return workspace->cut;
}

bool workspace_was_barred(const struct workspace *workspace) {
  return workspace->barred;
}

static bool saw_all(const struct workspace *workspace) {
  return !workspace->cut && !workspace->barred;
}

static void push_directory(struct queue *queue, char *path) {
  if (queue->count == queue->capacity) {
    queue->capacity = queue->capacity * 2 + 16;
    queue->paths =
        mem_grow(queue->paths, queue->capacity, sizeof *queue->paths);
  }
  queue->paths[queue->count++] = path;
}

static void add_file(struct workspace *workspace, char *path,
                     const struct stat *status) {
  if (workspace->count == workspace->capacity) {
    workspace->capacity = workspace->capacity * 2 + 64;
    workspace->files = mem_grow(workspace->files, workspace->capacity,
                                sizeof *workspace->files);
  }
  workspace->files[workspace->count++] = (struct file){
      .path = path,
      .inode = status->st_ino,
      .size = status->st_size,
      .modified = status->st_mtim,
      .changed = status->st_ctim,
  };
}

/* Directories that hold what tools keep for themselves. */
static bool is_skipped(const char *name) {
  return name[0] == '.' || strcmp(name, "__pycache__") == 0;
}

static void look_at(struct scan *scan, int directory, const char *parent,
                    const char *name) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
    scan->workspace->barred |= errno != ENOENT;
    return;
  }
  bool top = strcmp(parent, ".") == 0;
  if (S_ISREG(status.st_mode))
    add_file(scan->workspace,
             top ? mem_copy_text(name) : mem_format("%s/%s", parent, name),
             &status);
  else if (S_ISDIR(status.st_mode) && !is_skipped(name))
    push_directory(&scan->queue, top ? mem_copy_text(name)
                                     : mem_format("%s/%s", parent, name));
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads names while any may be looked at. */
static size_t read_names(struct scan *scan, DIR *stream, char ***names) {
  size_t count = 0, capacity = 0;
  struct dirent *entry;
  while ((entry = readdir(stream)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    if (scan->left == 0) {
      scan->workspace->cut = true;
      break;
    }
    scan->left--;
    if (count == capacity) {
      capacity = capacity * 2 + 32;
      *names = mem_grow(*names, capacity, sizeof **names);
    }
    (*names)[count++] = mem_copy_text(entry->d_name);
  }
  return count;
}

static int scan_directory(struct scan *scan, const char *path,
                          struct err *err) {
  int directory =
      fs_open_beneath(scan->root, path, O_RDONLY | O_DIRECTORY, 0, err);
  if (directory < 0)
    return -1;
  DIR *stream = fdopendir(directory);
  if (stream == NULL) {
    close(directory);
    return err_errno(err, ERR_IO, errno, "reading a directory");
  }
  char **names = NULL;
  size_t count = read_names(scan, stream, &names);
  if (count > 0)
    qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 0; i < count; i++) {
    look_at(scan, directory, path, names[i]);
    free(names[i]);
  }
  free(names);
  closedir(stream);
  return 0;
}

static int compare_files(const void *a, const void *b) {
  return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

int workspace_scan(int files_directory, size_t limit, struct workspace **ret,
                   struct err *err) {
  CLEANUP(workspace_done)
  struct workspace *workspace = mem_new(sizeof *workspace);
  struct scan scan = {
      .root = files_directory, .left = limit, .workspace = workspace};
  clock_gettime(CLOCK_REALTIME, &workspace->began);
  int result = scan_directory(&scan, ".", err);
  struct queue *queue = &scan.queue;
  for (; queue->first < queue->count; queue->first++) {
    struct err fault = {0};
    /* A directory that went away has no files to tell. */
    if (scan_directory(&scan, queue->paths[queue->first], &fault) < 0 &&
        fault.kind != ERR_NOT_FOUND)
      workspace->barred = true;
    free(queue->paths[queue->first]);
  }
  free(queue->paths);
  if (result < 0)
    return -1;
  if (workspace->count > 0)
    qsort(workspace->files, workspace->count, sizeof *workspace->files,
          compare_files);
  *ret = MEM_STEAL(workspace);
  return 0;
}

static int compare_times(const struct timespec *a, const struct timespec *b) {
  if (a->tv_sec != b->tv_sec)
    return a->tv_sec < b->tv_sec ? -1 : 1;
  return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

static bool is_same(const struct file *a, const struct file *b) {
  return a->inode == b->inode && a->size == b->size &&
         compare_times(&a->modified, &b->modified) == 0 &&
         compare_times(&a->changed, &b->changed) == 0;
}

struct comparison {
  const struct workspace *before;
  int root;
  const char *task;
  struct mime *mime;
  size_t limit;
  size_t omitted;
  struct json *files;
};

void workspace_set_uri(struct json *entry, const char *task, const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789-._~/";
  CLEANUP(buf_free) struct buf uri = BUF_INIT(BUF_SMALL);
  buf_format(&uri, "/" LAYOUT_TASKS "/%s/" LAYOUT_FILES "/", task);
  for (const char *at = path; *at != '\0'; at++) {
    if (strchr(plain, *at) != NULL)
      buf_byte(&uri, *at);
    else
      buf_format(&uri, "%%%02X", (unsigned char)*at);
  }
  json_set_text(entry, "uri", buf_string(&uri));
}

/* The type and the size now; a file that cannot be read is typed by its name.
 */
static void describe(const struct comparison *comparison,
                     const struct file *file, struct json *entry) {
  char type[MIME_SIZE];
  struct stat status = {.st_size = file->size};
  CLEANUP(mem_close_descriptor)
  int descriptor = fs_open_beneath(comparison->root, file->path,
                                   O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, NULL);
  if (descriptor >= 0 && fstat(descriptor, &status) == 0 &&
      S_ISREG(status.st_mode))
    mime_of_file(comparison->mime, descriptor, file->path, type);
  else
    mime_of_bytes(NULL, "", 0, file->path, type);
  json_set_text(entry, "mime", type);
  json_set_integer(entry, "bytes", status.st_size);
  if (utf8_is_valid(file->path, strlen(file->path)))
    workspace_set_uri(entry, comparison->task, file->path);
}

static void tell(struct comparison *comparison, const struct file *file,
                 const char *change) {
  if (json_length(comparison->files) >= comparison->limit) {
    comparison->omitted++;
    return;
  }
  struct json *entry = json_object();
  json_set_text(entry, "path", file->path);
  json_set_text(entry, "change", change);
  if (strcmp(change, "deleted") != 0)
    describe(comparison, file, entry);
  json_push(comparison->files, entry);
}

/* A file that the first scan did not see. When that did not see all, the file
 * may have been there: its times tell. */
static void tell_new(struct comparison *comparison, const struct file *file) {
  const struct workspace *before = comparison->before;
  if (saw_all(before)) {
    tell(comparison, file, "created");
    return;
  }
  if (compare_times(&file->changed, &before->began) < 0)
    return;
  struct statx status = {0};
  CLEANUP(mem_close_descriptor)
  int descriptor =
      fs_open_beneath(comparison->root, file->path, O_PATH, 0, NULL);
  struct timespec born = before->began;
  if (descriptor >= 0 &&
      statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &status) == 0 &&
      (status.stx_mask & STATX_BTIME) != 0)
    born = (struct timespec){.tv_sec = status.stx_btime.tv_sec,
                             .tv_nsec = status.stx_btime.tv_nsec};
  tell(comparison, file,
       compare_times(&born, &before->began) < 0 ? "changed" : "created");
}

/* A file that the second scan did not see; when that did not see all, it may be
 * there all the same. */
static void tell_gone(struct comparison *comparison,
                      const struct workspace *after, const struct file *file) {
  struct err err = {0};
  CLEANUP(mem_close_descriptor) int descriptor = -1;
  if (!saw_all(after))
    descriptor = fs_open_beneath(comparison->root, file->path, O_PATH, 0, &err);
  if (saw_all(after) || (descriptor < 0 && err.kind == ERR_NOT_FOUND))
    tell(comparison, file, "deleted");
}

struct json *workspace_compare(const struct workspace *before,
                               const struct workspace *after,
                               int files_directory, const char *task,
                               struct mime *mime, size_t limit,
                               size_t *omitted) {
  struct comparison comparison = {.before = before,
                                  .root = files_directory,
                                  .task = task,
                                  .mime = mime,
                                  .limit = limit,
                                  .files = json_array()};
  size_t i = 0, j = 0;
  while (i < before->count || j < after->count) {
    int order = i == before->count ? 1
                : j == after->count
                    ? -1
                    : strcmp(before->files[i].path, after->files[j].path);
    if (order < 0)
      tell_gone(&comparison, after, &before->files[i++]);
    else if (order > 0)
      tell_new(&comparison, &after->files[j++]);
    else if (!is_same(&before->files[i++], &after->files[j++]))
      tell(&comparison, &after->files[j - 1], "changed");
  }
  *omitted = comparison.omitted;
  return comparison.files;
}
