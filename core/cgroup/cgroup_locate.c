/* From the texts of /proc/self/mountinfo and /proc/self/cgroup (proc(5),
 * cgroups(7)) to directories. */
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static const char *const controller_names[CGROUP_COUNT] = {
    [CGROUP_MEMORY] = "memory",   [CGROUP_PIDS] = "pids",
    [CGROUP_CPU] = "cpu",         [CGROUP_ACCOUNT] = "cpuacct",
    [CGROUP_FREEZER] = "freezer",
};

/* A word in a list with commas between. */
static bool list_holds(const char *list, size_t length, const char *word) {
  size_t size = strlen(word);
  for (const char *at = list; at <= list + length;) {
    size_t part = strcspn(at, ", \n");
    if (at + part > list + length)
      part = (size_t)(list + length - at);
    if (part == size && strncmp(at, word, size) == 0)
      return true;
    at += part + 1;
  }
  return false;
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return *line == '\n' ? line + 1 : line;
}

/* The path of the membership line "ID:CONTROLLERS:PATH" that names the
 * controller ("": that of version 2, whose list is empty). */
static char *find_path(const char *membership, const char *controller) {
  for (const char *line = membership; *line != '\0'; line = next_line(line)) {
    const char *list = strchr(line, ':');
    const char *path = list == NULL ? NULL : strchr(list + 1, ':');
    if (path == NULL)
      continue;
    list++;
    size_t length = (size_t)(path - list);
    bool found = *controller == '\0' ? length == 0
                                     : list_holds(list, length, controller);
    if (found)
      return mem_copy_bytes(path + 1, strcspn(path + 1, "\n"));
  }
  return NULL;
}

struct mount {
  char root[1024], point[1024], type[32], options[512];
};

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS … - TYPE SOURCE SUPER". Paths with
 * spaces (\040) are none of a control group. */
static bool read_mount(const char *line, struct mount *ret) {
  char copy[4096];
  snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
  const char *rest = strstr(copy, " - ");
  return rest != NULL &&
         sscanf(copy, "%*s %*s %*s %1023s %1023s", ret->root, ret->point) ==
             2 &&
         sscanf(rest, " - %31s %*s %511s", ret->type, ret->options) == 2;
}

static bool mount_fits(const struct mount *mount, const char *controller) {
  if (*controller == '\0')
    return strcmp(mount->type, "cgroup2") == 0;
  return strcmp(mount->type, "cgroup") == 0 &&
         list_holds(mount->options, strlen(mount->options), controller);
}

/* In a container a mount shows a part of the tree only: `root` and below. */
static char *join(const struct mount *mount, const char *path) {
  size_t length = strlen(mount->root);
  if (length > 1) {
    if (strncmp(path, mount->root, length) != 0 ||
        (path[length] != '/' && path[length] != '\0'))
      return NULL;
    path += length;
  }
  if (strstr(path, "/..") != NULL)
    return NULL;
  return mem_format("%s%s", mount->point, strcmp(path, "/") == 0 ? "" : path);
}

static char *locate(const struct cgroup_view *view, const char *base,
                    const char *controller) {
  CLEANUP(mem_free_pointer)
  char *path = base == NULL ? find_path(view->membership, controller)
                            : mem_copy_text(base);
  if (path == NULL)
    return NULL;
  for (const char *line = view->mountinfo; *line != '\0';
       line = next_line(line)) {
    struct mount mount;
    if (!read_mount(line, &mount) || !mount_fits(&mount, controller))
      continue;
    char *directory = join(&mount, path);
    if (directory != NULL)
      return directory;
  }
  return NULL;
}

static bool offers_memory(const char *directory) {
  char list[512];
  return directory != NULL &&
         cgroup_file_read(directory, "cgroup.controllers", list, sizeof list) ==
             0 &&
         list_holds(list, strlen(list), "memory");
}

/* Where both versions are mounted, memory decides: a controller can be in one
 * of them only. */
void cgroup_locate(const struct cgroup_view *view, const char *base,
                   struct cgroup_host *host) {
  char *unified = locate(view, base, "");
  if (offers_memory(unified)) {
    host->base.version = 2;
    for (size_t i = 0; i < CGROUP_COUNT; i++)
      host->base.directories[i] = mem_copy_text(unified);
    free(unified);
    return;
  }
  free(unified);
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    host->base.directories[i] = locate(view, base, controller_names[i]);
    if (host->base.directories[i] != NULL)
      host->base.version = 1;
    else
      cgroup_give_up(host, (enum cgroup_controller)i,
                     "there is no control group controller \"%s\"",
                     controller_names[i]);
  }
}
