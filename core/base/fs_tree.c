/* fs_remove_tree: a walk with one open directory and an explicit stack.
 *
 * Going down opens one component with openat2, so that neither a symlink nor a
 * mount is entered. Going up opens ".." and compares it with what the walk came
 * from, so that a directory that was moved meanwhile cannot lead it elsewhere.
 */
#include "core/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/mem.h"

/* How often a directory that was emptied and yet is not empty is emptied
 * again: somebody adds files while we remove. */
#define MOST_PASSES 8

/* A directory that waits to be entered, or that has been entered and has its
 * waiting children above it on the stack. */
struct level {
  char *name;
  bool entered;
  unsigned char passes;
  dev_t parent_device; /* where to come back to; set when entered */
  ino_t parent_inode;
};

struct walk {
  int base;    /* the directory that holds the tree; borrowed */
  int current; /* the directory the walk is in; owned unless it is base */
  struct level *levels;
  size_t count;
  size_t capacity;
  bool failed; /* something stays: the first error is in *err */
  struct err *err;
};

static void walk_end(struct walk *walk) {
  for (size_t i = 0; i < walk->count; i++)
    free(walk->levels[i].name);
  free(walk->levels);
  if (walk->current != walk->base)
    close(walk->current);
}

static void note_failure(struct walk *walk, const char *name, int number) {
  char text[FS_PRINTABLE];
  if (!walk->failed)
    err_errno(walk->err,
              number == EACCES || number == EPERM ? ERR_DENIED : ERR_IO, number,
              "cannot remove \"%s\"", fs_printable(name, text));
  walk->failed = true;
}

static void push(struct walk *walk, const char *name) {
  if (walk->count == walk->capacity) {
    walk->capacity = walk->capacity * 2 + 16;
    walk->levels = mem_grow(walk->levels, walk->capacity, sizeof *walk->levels);
  }
  walk->levels[walk->count++] = (struct level){.name = mem_copy_text(name)};
}

static void pop(struct walk *walk) { free(walk->levels[--walk->count].name); }

static void move_to(struct walk *walk, int directory) {
  if (walk->current != walk->base)
    close(walk->current);
  walk->current = directory;
}

/* Removes what is not a directory, and directories that are empty; those that
 * are not go on the stack. */
static void remove_entry(struct walk *walk, const char *name, bool directory) {
  if (!directory) {
    if (unlinkat(walk->current, name, 0) == 0 || errno == ENOENT)
      return;
    /* EISDIR on Linux, EPERM by POSIX; EPERM also for an immutable file. */
    if (errno != EISDIR && errno != EPERM) {
      note_failure(walk, name, errno);
      return;
    }
    int first = errno;
    if (unlinkat(walk->current, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
      return;
    if (errno == ENOTDIR)
      errno = first;
  } else if (unlinkat(walk->current, name, AT_REMOVEDIR) == 0 ||
             errno == ENOENT) {
    return;
  }
  if (errno == ENOTEMPTY || errno == EEXIST)
    push(walk, name);
  else
    note_failure(walk, name, errno);
}

static void empty_current(struct walk *walk, const char *name) {
  int copy = openat(walk->current, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *listing = copy < 0 ? NULL : fdopendir(copy);
  if (listing == NULL) {
    note_failure(walk, name, errno);
    mem_close_descriptor(&copy);
    return;
  }
  struct dirent *entry;
  while ((errno = 0, entry = readdir(listing)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      remove_entry(walk, entry->d_name, entry->d_type == DT_DIR);
  if (errno != 0)
    note_failure(walk, name, errno);
  closedir(listing);
}

static int open_child(int directory, const char *name) {
  struct open_how how = {
      .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
  };
  for (int tries = 0;; tries++) {
    long opened = syscall(SYS_openat2, directory, name, &how, sizeof how);
    if (opened >= 0 || (errno != EINTR && errno != EAGAIN) || tries > 100)
      return (int)opened;
  }
}

/* Opens a directory even when its mode forbids it to its owner, and makes it
 * writable: without that its entries could not be removed. */
static int open_writable(int directory, const char *name) {
  int child = open_child(directory, name);
  if (child < 0 && errno == EACCES &&
      fchmodat(directory, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
    child = open_child(directory, name);
  struct stat status;
  if (child >= 0 && fstat(child, &status) == 0 &&
      (status.st_mode & 0700) != 0700)
    fchmod(child, 0700);
  return child;
}

static void enter(struct walk *walk, struct level *level) {
  struct stat parent;
  int child = -1;
  if (fstat(walk->current, &parent) == 0)
    child = open_writable(walk->current, level->name);
  if (child < 0) {
    /* Replaced meanwhile by something that is not a directory, or gone. */
    bool vanished = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    if (!vanished ||
        (unlinkat(walk->current, level->name, 0) != 0 && errno != ENOENT))
      note_failure(walk, level->name, errno);
    pop(walk);
    return;
  }
  level->entered = true;
  level->passes++;
  level->parent_device = parent.st_dev;
  level->parent_inode = parent.st_ino;
  move_to(walk, child);
  CLEANUP(mem_free_pointer) char *name = mem_copy_text(level->name);
  empty_current(walk, name); /* may move the levels in memory */
}

/* Back to where the walk entered `level` from. */
static int leave(struct walk *walk, const struct level *level) {
  int parent = walk->base;
  if (walk->count > 1)
    parent = openat(walk->current, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0)
    move_to(walk, parent);
  struct stat status;
  if (parent < 0 || fstat(parent, &status) != 0) {
    note_failure(walk, level->name, errno);
    return -1;
  }
  char text[FS_PRINTABLE];
  if (status.st_dev == level->parent_device &&
      status.st_ino == level->parent_inode)
    return 0;
  return err_set(walk->err, ERR_CONFLICT,
                 "\"%s\" was moved while its tree was being removed",
                 fs_printable(level->name, text));
}

/* All children of the top level are dealt with: removes it, or enters it once
 * more when somebody filled it again. */
static int finish(struct walk *walk, struct level *level) {
  if (leave(walk, level) != 0)
    return -1;
  if (unlinkat(walk->current, level->name, AT_REMOVEDIR) == 0 ||
      errno == ENOENT) {
    pop(walk);
    return 0;
  }
  bool refilled = errno == ENOTEMPTY || errno == EEXIST;
  if (refilled && !walk->failed && level->passes < MOST_PASSES) {
    level->entered = false;
    return 0;
  }
  note_failure(walk, level->name, errno);
  pop(walk);
  return 0;
}

static int remove_in(int directory, const char *name, struct err *err) {
  CLEANUP(walk_end)
  struct walk walk = {.base = directory, .current = directory, .err = err};
  remove_entry(&walk, name, false);
  while (walk.count != 0) {
    struct level *top = &walk.levels[walk.count - 1];
    if (!top->entered)
      enter(&walk, top);
    else if (finish(&walk, top) != 0)
      return -1;
  }
  return walk.failed ? -1 : 0;
}

int fs_remove_tree(int directory, const char *name, struct err *err) {
  const char *slash = strrchr(name, '/');
  const char *last = slash == NULL ? name : slash + 1;
  char text[FS_PRINTABLE];
  if (!fs_is_name(last))
    return err_set(err, ERR_INVALID, "\"%s\" is not a file name",
                   fs_printable(name, text));
  if (*name == '/')
    return err_set(err, ERR_DENIED, "\"%s\" is not a relative path",
                   fs_printable(name, text));
  if (slash == NULL)
    return remove_in(directory, last, err);
  CLEANUP(mem_free_pointer)
  char *above = mem_copy_bytes(name, (size_t)(slash - name));
  struct err local = {0};
  CLEANUP(mem_close_descriptor)
  int parent =
      fs_open_beneath(directory, above, O_RDONLY | O_DIRECTORY, 0, &local);
  if (parent >= 0)
    return remove_in(parent, last, err);
  return local.kind == ERR_NOT_FOUND
             ? 0
             : err_set(err, local.kind, "%s", local.text);
}
