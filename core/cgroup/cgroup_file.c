#include "core/cgroup/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"

int cgroup_file_open(const char *directory, const char *name, int flags) {
  char path[2048];
  int length = snprintf(path, sizeof path, "%s/%s", directory, name);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return open(path, flags | O_CLOEXEC);
}

int cgroup_file_write(const char *directory, const char *name,
                      const char *text) {
  CLEANUP(mem_close_descriptor)
  int file = cgroup_file_open(directory, name, O_WRONLY | O_TRUNC);
  if (file < 0)
    return -1;
  ssize_t written = write(file, text, strlen(text));
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

int cgroup_file_write_number(const char *directory, const char *name,
                             int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  return cgroup_file_write(directory, name, text);
}

int cgroup_file_read(const char *directory, const char *name, char *text,
                     size_t size) {
  CLEANUP(mem_close_descriptor)
  int file = cgroup_file_open(directory, name, O_RDONLY);
  ssize_t got = file < 0 ? -1 : read(file, text, size - 1);
  if (got < 0)
    return -1;
  text[got] = '\0';
  return 0;
}

static int64_t number_at(const char *text) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  return end == text || errno != 0 || value < 0 ? -1 : value;
}

int64_t cgroup_file_read_number(const char *directory, const char *name) {
  char text[64];
  if (directory == NULL ||
      cgroup_file_read(directory, name, text, sizeof text) < 0)
    return -1;
  return number_at(text);
}

int64_t cgroup_file_read_key(const char *directory, const char *name,
                             const char *key) {
  char text[8192];
  size_t length = strlen(key);
  if (directory == NULL ||
      cgroup_file_read(directory, name, text, sizeof text) < 0)
    return -1;
  for (const char *line = text; *line != '\0';) {
    if (strncmp(line, key, length) == 0 && line[length] == ' ')
      return number_at(line + length);
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  return -1;
}
