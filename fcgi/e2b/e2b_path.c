#include "fcgi/e2b/e2b_path.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"

/* What follows the prefix, if the path is it or is beneath it. */
static const char *behind(const char *path, const char *prefix) {
  size_t length = strlen(prefix);
  if (strncmp(path, prefix, length) != 0 ||
      (path[length] != '/' && path[length] != '\0'))
    return NULL;
  return path + length;
}

static const char *in_workspace(const char *path) {
  static const char *const names[] = {E2B_HOME, "/mnt/data", "/work", "~"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (behind(path, names[i]) != NULL)
      return behind(path, names[i]);
  return *path == '/' ? NULL : path;
}

int e2b_path_read(const char *path, struct buf *relative, struct err *err) {
  const char *rest = in_workspace(path);
  size_t before = relative->length;
  while (rest != NULL && *rest != '\0') {
    size_t length = strcspn(rest, "/");
    bool same = length == 0 || (length == 1 && *rest == '.');
    if (length == 2 && strncmp(rest, "..", 2) == 0)
      break;
    if (!same && relative->length > before)
      buf_byte(relative, '/');
    if (!same)
      buf_append(relative, rest, length);
    rest += length + (rest[length] == '/');
  }
  if (rest == NULL || *rest != '\0') {
    buf_truncate(relative, before);
    return err_set(err, ERR_NOT_FOUND,
                   "\"%.200s\" is not in the workspace, which is " E2B_HOME,
                   path);
  }
  return relative->overflowed
             ? err_set(err, ERR_INVALID, "the path is too long")
             : 0;
}
