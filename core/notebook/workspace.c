#include "core/notebook/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

/* Directories deeper than this are not entered: no workspace of people's needs
 * it, and a hostile one would only cost time. */
#define PATH_MOST 1024

struct entry {
  char *path; /* relative, bytes as on disk */
  ino_t inode;
  int64_t size;
  struct timespec modified, changed;
};

struct workspace {
  struct entry *entries; /* regular files, sorted by path */
  size_t count;
  size_t looked_at;
  size_t limit;
  bool cut;
};

/* Directories yet to be read, in order of discovery (breadth first). */
struct pending {
  char **paths;
  size_t first, count;
};

void workspace_free(struct workspace *workspace) {
  if (workspace == NULL)
    return;
  for (size_t i = 0; i < workspace->count; i++)
    free(workspace->entries[i].path);
  free(workspace->entries);
  free(workspace);
}

void workspace_done(struct workspace **workspace) {
  workspace_free(MEM_STEAL(*workspace));
}

bool workspace_was_cut(const struct workspace *workspace) {
  return workspace != NULL && workspace->cut;
}

static void add_pending(struct pending *pending, char *path) {
  pending->paths =
      mem_grow(pending->paths, pending->count + 1, sizeof *pending->paths);
  pending->paths[pending->count++] = path;
}

static void add_file(struct workspace *workspace, char *path,
                     const struct stat *status) {
  size_t count = workspace->count;
  if ((count & (count - 1)) == 0)
    workspace->entries =
        mem_grow(workspace->entries, count == 0 ? 1 : 2 * count,
                 sizeof *workspace->entries);
  workspace->entries[workspace->count++] = (struct entry){
      .path = path,
      .inode = status->st_ino,
      .size = status->st_size,
      .modified = status->st_mtim,
      .changed = status->st_ctim,
  };
}

/* Takes `path`. Symlinks, sockets and devices are no files of the answer. */
static void take(struct workspace *workspace, struct pending *pending,
                 int directory, const char *name, char *path) {
  struct stat status;
  bool known = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (known && S_ISREG(status.st_mode))
    add_file(workspace, path, &status);
  else if (known && S_ISDIR(status.st_mode) && strlen(path) < PATH_MOST)
    add_pending(pending, path);
  else
    free(path);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++)
    free(names[i]);
  free(names);
}

/* The names of one directory, sorted, so that what a cut leaves out does not
 * depend on the order on disk; never more than may still be looked at. */
static char **read_names(struct workspace *workspace, DIR *stream,
                         size_t *count) {
  char **names = NULL;
  const struct dirent *found;
  *count = 0;
  while ((found = readdir(stream)) != NULL) {
    if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
      continue;
    if (workspace->looked_at >= workspace->limit) {
      workspace->cut = true;
      break;
    }
    workspace->looked_at++;
    if ((*count & (*count - 1)) == 0)
      names = mem_grow(names, *count == 0 ? 1 : 2 * *count, sizeof *names);
    names[(*count)++] = mem_copy_text(found->d_name);
  }
  if (*count > 0)
    qsort(names, *count, sizeof *names, by_name);
  return names;
}

static void scan_directory(struct workspace *workspace, struct pending *pending,
                           int root, const char *path) {
  int directory =
      *path == '\0'
          ? openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
          : fs_open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0, NULL);
  DIR *stream = directory < 0 ? NULL : fdopendir(directory);
  if (stream == NULL) {
    mem_close_descriptor(&directory);
    return;
  }
  size_t count;
  char **names = read_names(workspace, stream, &count);
  for (size_t i = 0; i < count; i++)
    take(workspace, pending, directory, names[i],
         *path == '\0' ? mem_copy_text(names[i])
                       : mem_format("%s/%s", path, names[i]));
  free_names(names, count);
  closedir(stream);
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct entry *)a)->path,
                ((const struct entry *)b)->path);
}

int workspace_scan(int files_directory, size_t limit, struct workspace **ret,
                   struct err *err) {
  if (fcntl(files_directory, F_GETFD) < 0)
    return err_errno(err, ERR_IO, errno, "workspace");
  struct workspace *workspace = mem_new(sizeof *workspace);
  workspace->limit = limit;
  struct pending pending = {0};
  add_pending(&pending, mem_copy_text(""));
  while (pending.first < pending.count && !workspace->cut)
    scan_directory(workspace, &pending, files_directory,
                   pending.paths[pending.first++]);
  free_names(pending.paths, pending.count);
  if (workspace->count > 0)
    qsort(workspace->entries, workspace->count, sizeof *workspace->entries,
          by_path);
  *ret = workspace;
  return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct entry *a, const struct entry *b) {
  return a->inode == b->inode && a->size == b->size &&
         same_time(&a->modified, &b->modified) &&
         same_time(&a->changed, &b->changed);
}

/* Percent-encodes all but the unreserved characters of RFC 3986 and "/". */
static void append_encoded(const char *path, struct buf *out) {
  for (const char *c = path; *c != '\0'; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                 (*c >= '0' && *c <= '9') || strchr("-._~/", *c) != NULL;
    if (plain)
      buf_byte(out, *c);
    else
      buf_format(out, "%%%02X", (unsigned char)*c);
  }
}

struct comparison {
  int files_directory;
  const char *task;
  struct mime *mime;
  size_t limit;
  size_t omitted;
  struct json *list;
};

static void set_present(const struct comparison *c, const struct entry *entry,
                        struct json *object) {
  char type[MIME_SIZE] = "application/octet-stream";
  int CLEANUP(mem_close_descriptor) file = fs_open_beneath(
      c->files_directory, entry->path, O_RDONLY | O_NONBLOCK, 0, NULL);
  struct stat status;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    mime_of_file(c->mime, file, entry->path, type);
  json_set_text(object, "mime", type);
  json_set_integer(object, "bytes", entry->size);
  if (!json_utf8_valid(entry->path, strlen(entry->path)))
    return;
  struct buf CLEANUP(buf_free) uri = BUF_INIT(BUF_SMALL);
  buf_format(&uri, "/tasks/%s/files/", c->task);
  append_encoded(entry->path, &uri);
  json_set_text(object, "uri", buf_string(&uri));
}

static void tell(struct comparison *c, const struct entry *entry,
                 const char *change) {
  if (json_length(c->list) >= c->limit) {
    c->omitted++;
    return;
  }
  struct json *object = json_object();
  json_set_text(object, "path", entry->path);
  json_set_text(object, "change", change);
  if (strcmp(change, "deleted") != 0)
    set_present(c, entry, object);
  json_push(c->list, object);
}

/* Where a scan was cut, what it lacks was not looked at: neither created nor
 * deleted can be said of it. */
struct json *workspace_compare(const struct workspace *before,
                               const struct workspace *after,
                               int files_directory, const char *task,
                               struct mime *mime, size_t limit,
                               size_t *omitted) {
  struct comparison c = {.files_directory = files_directory,
                         .task = task,
                         .mime = mime,
                         .limit = limit,
                         .list = json_array()};
  size_t old = 0, new = 0;
  while (old < before->count || new < after->count) {
    int order = old == before->count  ? 1
                : new == after->count ? -1
                                      : strcmp(before->entries[old].path,
                                               after->entries[new].path);
    if (order < 0) {
      if (!after->cut)
        tell(&c, &before->entries[old], "deleted");
      old++;
    } else if (order > 0) {
      if (!before->cut)
        tell(&c, &after->entries[new], "created");
      new ++;
    } else {
      if (!is_unchanged(&before->entries[old], &after->entries[new]))
        tell(&c, &after->entries[new], "changed");
      old++;
      new ++;
    }
  }
  *omitted = c.omitted;
  return c.list;
}
