/* A directory of its own for each test, gone afterwards. Setup and teardown
 * for cmocka; *state is the struct scratch. */
#ifndef CELLPOST_TESTS_SCRATCH_H
#define CELLPOST_TESTS_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"

struct scratch {
  char path[64];
  int parent;    /* the directory it stands in, open */
  int directory; /* the scratch directory, open */
};

static inline int scratch_make_in(void **state, const char *parent) {
  struct scratch *scratch = calloc(1, sizeof *scratch);
  if (scratch == NULL)
    return -1;
  snprintf(scratch->path, sizeof scratch->path, "%s/cellpost-test-XXXXXX",
           parent);
  if (mkdtemp(scratch->path) == NULL)
    return -1;
  scratch->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  scratch->directory = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *state = scratch;
  return scratch->parent < 0 || scratch->directory < 0 ? -1 : 0;
}

static inline int scratch_make(void **state) {
  return scratch_make_in(state, "/tmp");
}

/* In memory where there is such a place: for tests that make very many
 * directories, at which ext4 is slow. */
static inline int scratch_make_fast(void **state) {
  return scratch_make_in(state,
                         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline int scratch_remove(void **state) {
  struct scratch *scratch = *state;
  struct err err = {0};
  const char *name = strrchr(scratch->path, '/') + 1;
  int result = fs_remove_tree(scratch->parent, name, &err);
  if (result != 0)
    fprintf(stderr, "%s\n", err.text);
  close(scratch->parent);
  close(scratch->directory);
  free(scratch);
  return result;
}

/* A file with this text, made by plain system calls. */
static inline void scratch_file(int directory, const char *name,
                                const char *text) {
  int file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || dprintf(file, "%s", text) < 0)
    abort();
  close(file);
}

static inline void scratch_mkdir(int directory, const char *path) {
  if (mkdirat(directory, path, 0755) != 0)
    abort();
}

/* Whether something stands there, be it a dangling symlink. */
static inline bool scratch_has(int directory, const char *path) {
  struct stat status;
  return fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* How many entries the directory has, hidden ones too. */
static inline int scratch_count(const struct scratch *scratch) {
  DIR *listing = opendir(scratch->path);
  int count = -2; /* "." and ".." */
  while (listing != NULL && readdir(listing) != NULL)
    count++;
  closedir(listing);
  return count;
}

#endif
