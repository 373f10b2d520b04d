#include "core/jail/watch/jail_held.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/process/descendants.h"

#define BLOCK 512           /* of st_blocks (stat(2)) */
#define MOST_LOOKED 200000U /* descriptors and mappings */
#define DELETED " (deleted)\n"

struct held {
  ino_t inode;
  bool mapped; /* bytes are those of a mapping */
  int64_t bytes;
};

struct count {
  dev_t device;
  struct held *held;
  size_t used, capacity;
  size_t looked;
};

static void add(struct count *count, struct held held) {
  if (count->used == count->capacity) {
    count->capacity = count->capacity * 2 + 64;
    count->held = mem_grow(count->held, count->capacity, sizeof *count->held);
  }
  count->held[count->used++] = held;
}

static void add_descriptor(struct count *count, int listing, const char *name) {
  struct stat status;
  if (*name == '.' || fstatat(listing, name, &status, 0) < 0 ||
      !S_ISREG(status.st_mode) || status.st_nlink != 0 ||
      status.st_dev != count->device)
    return;
  add(count, (struct held){.inode = status.st_ino,
                           .bytes = (int64_t)status.st_blocks * BLOCK});
}

static void add_table(struct count *count, const char *path) {
  DIR *listing = opendir(path);
  if (listing == NULL)
    return;
  const struct dirent *entry;
  while (count->looked < MOST_LOOKED && (entry = readdir(listing)) != NULL) {
    count->looked++;
    add_descriptor(count, dirfd(listing), entry->d_name);
  }
  closedir(listing);
}

/* A thread may have a table of descriptors of its own (CLONE_FILES, clone(2)).
 */
static void add_descriptors(struct count *count, pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  if (tasks == NULL)
    return;
  const struct dirent *entry;
  while (count->looked < MOST_LOOKED && (entry = readdir(tasks)) != NULL) {
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/fd", (int)pid,
             entry->d_name);
    if (entry->d_name[0] != '.')
      add_table(count, path);
  }
  closedir(tasks);
}

static bool ends_as_deleted(const char *line, size_t length) {
  size_t end = strlen(DELETED);
  return length > end && strcmp(line + length - end, DELETED) == 0;
}

/* "from-to rw-s offset major:minor inode path" (proc_pid_maps(5)). */
static void add_mapping(struct count *count, const char *line) {
  uint64_t from, to;
  unsigned device_major, device_minor;
  uintmax_t inode;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %ju", &from, &to,
             &device_major, &device_minor, &inode) != 5 ||
      device_major != major(count->device) ||
      device_minor != minor(count->device))
    return;
  add(count, (struct held){.inode = (ino_t)inode,
                           .mapped = true,
                           .bytes = (int64_t)(to - from)});
}

static void add_mappings(struct count *count, pid_t pid) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(path, "re");
  if (maps == NULL)
    return;
  CLEANUP(mem_free_pointer) char *line = NULL;
  size_t size = 0;
  ssize_t length;
  while (count->looked < MOST_LOOKED &&
         (length = getline(&line, &size, maps)) > 0) {
    count->looked++;
    if (ends_as_deleted(line, (size_t)length))
      add_mapping(count, line);
  }
  fclose(maps);
}

/* Open files come before mappings, and the longest mapping comes first. */
static int compare(const void *left, const void *right) {
  const struct held *a = left, *b = right;
  if (a->inode != b->inode)
    return a->inode < b->inode ? -1 : 1;
  if (a->mapped != b->mapped)
    return a->mapped ? 1 : -1;
  return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static struct fs_usage sum(struct count *count) {
  struct fs_usage usage = {0};
  if (count->used > 0)
    qsort(count->held, count->used, sizeof *count->held, compare);
  for (size_t i = 0; i < count->used; i++) {
    if (i > 0 && count->held[i].inode == count->held[i - 1].inode)
      continue;
    usage.files++;
    usage.bytes += count->held[i].bytes;
  }
  return usage;
}

/* As /proc names it, which may be that of another pid namespace. */
static pid_t own_pid(void) {
  char text[16];
  ssize_t length = readlink("/proc/self", text, sizeof text - 1);
  if (length <= 0)
    return -1;
  text[length] = '\0';
  return (pid_t)atoi(text);
}

struct fs_usage jail_held_count(dev_t device) {
  struct count count = {.device = device};
  CLEANUP(mem_free_pointer) pid_t *pids = NULL;
  int found = descendants_list(own_pid(), &pids);
  for (int i = 0; i < found; i++) {
    add_descriptors(&count, pids[i]);
    add_mappings(&count, pids[i]);
  }
  struct fs_usage usage = sum(&count);
  free(count.held);
  return usage;
}
