#include "core/jail/layers/jail_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define PATH_SIZE 4096

int jail_mount_fresh(const char *type, uint64_t attributes,
                     const struct jail_option *options, struct err *err) {
  CLEANUP(mem_close_descriptor) int context = fsopen(type, FSOPEN_CLOEXEC);
  if (context < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot mount a %s", type);
  for (; options->key != NULL; options++)
    if (fsconfig(context, FSCONFIG_SET_STRING, options->key, options->value,
                 0) < 0)
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot mount a %s with %s = %s", type, options->key,
                       options->value);
  if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot mount a %s", type);
  int mount = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
  if (mount < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot mount a %s", type);
  return mount;
}

int jail_mount_copy(int directory, const char *path, uint64_t attributes,
                    int owner_map, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int tree = open_tree(directory, path,
                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
                           AT_EMPTY_PATH);
  struct mount_attr wanted = {.attr_set = attributes,
                              .propagation = MS_PRIVATE};
  if (owner_map > 0) {
    wanted.attr_set |= MOUNT_ATTR_IDMAP;
    wanted.userns_fd = (unsigned)owner_map;
  }
  if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted,
                                sizeof wanted) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot mount a view of %s",
                     *path == '\0' ? "a directory" : path);
  return mem_steal_descriptor(&tree);
}

/* Makes every directory above the last component. */
static int make_above(int root, const char *path, struct err *err) {
  char part[PATH_SIZE];
  for (const char *slash = strchr(path, '/'); slash != NULL;
       slash = strchr(slash + 1, '/')) {
    size_t length = (size_t)(slash - path);
    if (length == 0)
      continue;
    if (length >= sizeof part)
      return err_set(err, ERR_UNAVAILABLE, "a path is too long: %.100s", path);
    memcpy(part, path, length);
    part[length] = '\0';
    if (mkdirat(root, part, 0755) < 0 && errno != EEXIST)
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot make /%s in the new root", part);
  }
  return 0;
}

static const char *relative(const char *path) {
  return path + strspn(path, "/");
}

int jail_mount_directory(int root, const char *path, struct err *err) {
  path = relative(path);
  if (make_above(root, path, err) < 0)
    return -1;
  if (mkdirat(root, path, 0755) < 0 && errno != EEXIST)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot make /%s in the new root", path);
  return 0;
}

int jail_mount_file(int root, const char *path, const char *text,
                    struct err *err) {
  path = relative(path);
  if (make_above(root, path, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file =
      openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot make /%s in the new root", path);
  fchmod(file, 0644);
  return fs_write_all(file, text, strlen(text), err);
}

int jail_mount_link(int root, const char *path, const char *content,
                    struct err *err) {
  path = relative(path);
  if (make_above(root, path, err) < 0)
    return -1;
  if (symlinkat(content, root, path) < 0 && errno != EEXIST)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot link /%s in the new root", path);
  return 0;
}

int jail_mount_attach(int mount, int root, const char *target, bool directory,
                      struct err *err) {
  struct stat status;
  target = relative(target);
  if (fstatat(root, target, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
      (directory ? jail_mount_directory(root, target, err)
                 : jail_mount_file(root, target, "", err)) < 0)
    return -1;
  if (move_mount(mount, "", root, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot attach /%s in the new root", target);
  return 0;
}

/* A link into what is read-only anyway stays one: it is cheaper, and a relative
 * one beside it goes on to fit. */
static bool keep_link(int root, const char *path) {
  char content[PATH_SIZE];
  ssize_t length = readlink(path, content, sizeof content - 1);
  if (length <= 0)
    return false;
  content[length] = '\0';
  if (strncmp(content, "usr/", 4) != 0 && strncmp(content, "/usr/", 5) != 0)
    return false;
  return jail_mount_link(root, path, content, NULL) == 0;
}

int jail_mount_bind(int root, const char *path, uint64_t attributes,
                    struct err *err) {
  struct stat status;
  if (keep_link(root, path))
    return 0;
  if (stat(path, &status) < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES
               ? 1
               : err_errno(err, ERR_UNAVAILABLE, errno, "cannot look at %s",
                           path);
  CLEANUP(mem_close_descriptor)
  int tree = jail_mount_copy(AT_FDCWD, path, attributes, 0, err);
  if (tree < 0)
    return -1;
  return jail_mount_attach(tree, root, path, S_ISDIR(status.st_mode), err);
}
