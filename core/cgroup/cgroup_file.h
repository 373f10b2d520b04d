/* The small files of control groups. */
#ifndef CELLPOST_CGROUP_CGROUP_FILE_H
#define CELLPOST_CGROUP_CGROUP_FILE_H

#include <stddef.h>
#include <stdint.h>

int cgroup_file_open(const char *directory, const char *name, int flags);

/* Writes a text to, or reads at most size - 1 bytes of, <directory>/<name> in
 * one go. With errno set on failure. */
int cgroup_file_write(const char *directory, const char *name,
                      const char *text);
int cgroup_file_write_number(const char *directory, const char *name,
                             int64_t value);
int cgroup_file_read(const char *directory, const char *name, char *text,
                     size_t size);

/* The number that is the whole file, or that follows `key` at the start of a
 * line; -1: none ("max", too). A NULL directory has no files. */
int64_t cgroup_file_read_number(const char *directory, const char *name);
int64_t cgroup_file_read_key(const char *directory, const char *name,
                             const char *key);

#endif
