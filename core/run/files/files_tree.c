#include "core/run/files/files_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/run/files/files_place.h"

static int open_place(struct engine *engine, const char *task, const char *path,
                      struct files_place *place, struct err *err) {
  if (*path != '\0' && files_place_check(path, err) < 0)
    return -1;
  return files_place_open(engine, task, NULL, place, err);
}

int files_tree_stat(struct engine *engine, const char *task, const char *path,
                    struct stat *ret, struct err *err) {
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (open_place(engine, task, path, &place, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int found = fs_open_beneath(place.files, *path == '\0' ? "." : path,
                              O_PATH | O_NOFOLLOW, 0, err);
  if (found < 0)
    return -1;
  return fstat(found, ret) < 0
             ? err_errno(err, ERR_IO, errno, "cannot look at %.200s", path)
             : 0;
}

int files_tree_make(struct engine *engine, const char *task, const char *path,
                    struct err *err) {
  const char *name = path;
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (*path == '\0')
    return err_set(err, ERR_CONFLICT, "the workspace is there already");
  if (open_place(engine, task, path, &place, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int parent = files_place_open_parent(place.files, path, &name, err);
  if (parent < 0)
    return -1;
  if (mkdirat(parent, name, 0775) < 0)
    return err_errno(err, errno == EEXIST ? ERR_CONFLICT : ERR_IO, errno,
                     "cannot make %.200s", path);
  return 0;
}

/* The directory that holds `path`, which is there. */
static int open_above(int files, const char *path, const char **name,
                      struct err *err) {
  const char *slash = strrchr(path, '/');
  CLEANUP(mem_free_pointer)
  char *above = slash == NULL ? mem_copy_text(".")
                              : mem_copy_bytes(path, (size_t)(slash - path));
  *name = slash == NULL ? path : slash + 1;
  return fs_open_beneath(files, above, O_RDONLY | O_DIRECTORY, 0, err);
}

static enum err_kind kind_of(int number) {
  if (number == ENOENT)
    return ERR_NOT_FOUND;
  return number == EISDIR || number == ENOTDIR || number == ENOTEMPTY ||
                 number == EEXIST || number == EINVAL
             ? ERR_CONFLICT
             : ERR_IO;
}

int files_tree_move(struct engine *engine, const char *task, const char *from,
                    const char *to, struct err *err) {
  const char *old = from, *new = to;
  CLEANUP(files_place_close) struct files_place place = {-1, -1};
  if (files_place_check(to, err) < 0 || *from == '\0' ||
      open_place(engine, task, from, &place, err) < 0)
    return *from == '\0' ? err_set(err, ERR_CONFLICT,
                                   "the workspace itself cannot be moved")
                         : -1;
  CLEANUP(mem_close_descriptor)
  int source = open_above(place.files, from, &old, err);
  CLEANUP(mem_close_descriptor)
  int target =
      source < 0 ? -1 : files_place_open_parent(place.files, to, &new, err);
  if (source < 0 || target < 0)
    return -1;
  if (renameat(source, old, target, new) < 0)
    return err_errno(err, kind_of(errno), errno, "cannot move %.150s to %.150s",
                     from, to);
  return 0;
}
