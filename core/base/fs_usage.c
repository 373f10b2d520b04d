#include "core/base/fs_usage.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define BLOCK 512 /* of st_blocks (stat(2)) */

/* A directory that waits to be entered, or that has been entered and has its
 * waiting children above it on the stack. */
struct level {
  char *name;
  bool entered;
  dev_t above_device; /* where to come back to; set when entered */
  ino_t above_inode;
};

struct count {
  int current; /* the directory that it looks at; owned */
  dev_t device;
  struct level *levels;
  size_t depth, capacity;
  struct fs_usage usage, most;
};

static bool is_over(const struct count *count) {
  return count->usage.bytes > count->most.bytes ||
         count->usage.files > count->most.files;
}

static void push(struct count *count, const char *name) {
  if (count->depth == count->capacity) {
    count->capacity = count->capacity * 2 + 16;
    count->levels =
        mem_grow(count->levels, count->capacity, sizeof *count->levels);
  }
  count->levels[count->depth++] = (struct level){.name = mem_copy_text(name)};
}

static void pop(struct count *count) {
  free(count->levels[--count->depth].name);
}

static void add_entry(struct count *count, const char *name) {
  struct stat status;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
      fstatat(count->current, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
    return;
  count->usage.files++;
  count->usage.bytes += (int64_t)status.st_blocks * BLOCK;
  if (S_ISDIR(status.st_mode) && status.st_dev == count->device)
    push(count, name);
}

static void add_current(struct count *count) {
  DIR *listing = fs_list(count->current);
  if (listing == NULL)
    return;
  const struct dirent *entry;
  while (!is_over(count) && (entry = readdir(listing)) != NULL)
    add_entry(count, entry->d_name);
  closedir(listing);
}

static void stand_in(struct count *count, int directory) {
  close(count->current);
  count->current = directory;
}

static void enter(struct count *count) {
  struct level *level = &count->levels[count->depth - 1];
  struct stat above;
  int child = openat(count->current, level->name,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (child < 0 || fstat(count->current, &above) < 0) {
    mem_close_descriptor(&child);
    pop(count);
    return;
  }
  level->entered = true;
  level->above_device = above.st_dev;
  level->above_inode = above.st_ino;
  stand_in(count, child);
  add_current(count);
}

/* False when the directory was moved: ".." leads elsewhere then. */
static bool leave(struct count *count) {
  const struct level *level = &count->levels[count->depth - 1];
  struct stat status;
  int above = openat(count->current, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (above < 0 || fstat(above, &status) < 0 ||
      status.st_dev != level->above_device ||
      status.st_ino != level->above_inode) {
    mem_close_descriptor(&above);
    return false;
  }
  stand_in(count, above);
  pop(count);
  return true;
}

static void walk(struct count *count) {
  add_current(count);
  while (count->depth > 0 && !is_over(count)) {
    if (!count->levels[count->depth - 1].entered)
      enter(count);
    else if (!leave(count))
      return;
  }
}

struct fs_usage fs_usage_count(int directory, struct fs_usage most) {
  struct stat status;
  struct count count = {
      .current = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
      .most = most};
  if (count.current < 0 || fstat(count.current, &status) < 0) {
    mem_close_descriptor(&count.current);
    return count.usage;
  }
  count.device = status.st_dev;
  walk(&count);
  while (count.depth > 0)
    pop(&count);
  free(count.levels);
  close(count.current);
  return count.usage;
}
