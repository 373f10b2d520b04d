#include "core/jail/host/jail_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define MOST_LINKS 16

struct list {
  char **paths; /* NULL-terminated */
  size_t count;
  const char *const *hidden;
};

bool jail_paths_is_beneath(const char *path, const char *directory) {
  size_t length = strlen(directory);
  while (length > 0 && directory[length - 1] == '/')
    length--;
  return strncmp(path, directory, length) == 0 &&
         (path[length] == '/' || path[length] == '\0');
}

static bool is_system(const char *path) {
  static const char *const system[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                       "/lib32", "/lib64", "/libx32"};
  for (size_t i = 0; i < COUNT_OF(system); i++)
    if (jail_paths_is_beneath(path, system[i]))
      return true;
  return false;
}

static bool is_hidden(const struct list *list, const char *path) {
  for (const char *const *hidden = list->hidden; *hidden != NULL; hidden++)
    if (jail_paths_is_beneath(path, *hidden))
      return true;
  return false;
}

static int check_shown(const struct list *list, const char *path,
                       struct err *err) {
  if (strcmp(path, "/") == 0 || strcmp(path, "/proc") == 0 ||
      strcmp(path, "/dev") == 0)
    return err_set(err, ERR_UNAVAILABLE, "kernels must not be shown %s", path);
  for (const char *const *hidden = list->hidden; *hidden != NULL; hidden++)
    if (jail_paths_is_beneath(*hidden, path))
      return err_set(err, ERR_UNAVAILABLE,
                     "kernels must not be shown %s, which holds %s; put the "
                     "kernel's program elsewhere",
                     path, *hidden);
  return 0;
}

static int add(struct list *list, const char *path, struct err *err) {
  if (is_system(path) || is_hidden(list, path))
    return 0;
  if (check_shown(list, path, err) < 0)
    return -1;
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->paths[i], path) == 0)
      return 0;
  list->paths = mem_grow(list->paths, list->count + 2, sizeof *list->paths);
  list->paths[list->count++] = mem_copy_text(path);
  list->paths[list->count] = NULL;
  return 0;
}

static bool exists(const char *directory, const char *name) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/%s", directory, name);
  return access(path, F_OK) == 0;
}

/* The directory above bin/ when it holds libraries, too; else NULL. */
static char *prefix_of(const char *program) {
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(program);
  char *bin = dirname(copy);
  const char *slash = strrchr(bin, '/');
  if (slash == NULL || slash == bin || strcmp(slash + 1, "bin") != 0)
    return NULL;
  bin[slash - bin] = '\0';
  return exists(bin, "lib") || exists(bin, "pyvenv.cfg") ? mem_copy_text(bin)
                                                         : NULL;
}

/* "home = /opt/python/bin" in pyvenv.cfg (Python, library/venv). */
static char *base_program(const char *prefix) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  CLEANUP(mem_close_descriptor) int directory = fs_open_directory(prefix, NULL);
  if (directory < 0 || fs_read_file(directory, "pyvenv.cfg", &text, NULL) < 0)
    return NULL;
  for (const char *line = buf_string(&text); line != NULL;
       line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, "home", 4) != 0)
      continue;
    line += 4 + strspn(line + 4, " \t=");
    return mem_format("%.*s/python3", (int)strcspn(line, "\r\n"), line);
  }
  return NULL;
}

static int add_program(struct list *list, const char *program, unsigned depth,
                       struct err *err);

static int add_prefix(struct list *list, const char *program, unsigned depth,
                      struct err *err) {
  CLEANUP(mem_free_pointer) char *prefix = prefix_of(program);
  if (prefix == NULL)
    return add(list, program, err);
  if (add(list, prefix, err) < 0)
    return -1;
  CLEANUP(mem_free_pointer) char *base = base_program(prefix);
  return base == NULL || *base != '/' ? 0
                                      : add_program(list, base, depth + 1, err);
}

/* The program a link points to, by one step; NULL when it is no link. */
static char *target_of(const char *link) {
  char content[PATH_MAX];
  ssize_t length = readlink(link, content, sizeof content - 1);
  if (length <= 0)
    return NULL;
  content[length] = '\0';
  if (*content == '/')
    return mem_copy_text(content);
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(link);
  return mem_format("%s/%s", dirname(copy), content);
}

static int add_program(struct list *list, const char *program, unsigned depth,
                       struct err *err) {
  if (is_system(program) || depth > MOST_LINKS)
    return 0;
  if (access(program, F_OK) < 0)
    return 0;
  if (add_prefix(list, program, depth, err) < 0)
    return -1;
  CLEANUP(mem_free_pointer) char *target = target_of(program);
  return target == NULL ? 0 : add_program(list, target, depth + 1, err);
}

static int add_arguments(struct list *list, char *const *argv,
                         struct err *err) {
  struct stat status;
  for (; *argv != NULL; argv++)
    if (**argv == '/' && stat(*argv, &status) == 0 && S_ISREG(status.st_mode) &&
        add(list, *argv, err) < 0)
      return -1;
  return 0;
}

static int add_configured(struct list *list, const char *paths,
                          struct err *err) {
  CLEANUP(mem_free_pointer)
  char *copy = mem_copy_text(paths == NULL ? "" : paths);
  char *state = NULL;
  for (char *path = strtok_r(copy, ":", &state); path != NULL;
       path = strtok_r(NULL, ":", &state))
    if (add(list, path, err) < 0)
      return err_wrap(err, "read_only_paths");
  return 0;
}

static int collect(const struct jail_paths_order *order, struct list *list,
                   struct err *err) {
  if (add_configured(list, order->configured, err) < 0 ||
      (order->kernelspec != NULL && add(list, order->kernelspec, err) < 0))
    return -1;
  if (*order->argv == NULL)
    return 0;
  if (**order->argv == '/' && add_program(list, *order->argv, 0, err) < 0)
    return -1;
  return add_arguments(list, order->argv + 1, err);
}

int jail_paths_collect(const struct jail_paths_order *order, char ***ret,
                       struct err *err) {
  struct list list = {.paths = mem_array(1, sizeof(char *)),
                      .hidden = order->hidden};
  if (collect(order, &list, err) < 0) {
    jail_paths_free(list.paths);
    return -1;
  }
  *ret = list.paths;
  return 0;
}

void jail_paths_free(char **paths) {
  for (char **path = paths; path != NULL && *path != NULL; path++)
    free(*path);
  free(paths);
}
