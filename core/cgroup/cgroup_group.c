#include "core/cgroup/cgroup_group.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

const struct cgroup_backend *cgroup_backend_of(const struct cgroup *group) {
  return group->version == 2 ? &cgroup_version_2 : &cgroup_version_1;
}

void cgroup_clear(struct cgroup *group) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    free(group->directories[i]);
  *group = (struct cgroup){0};
}

void cgroup_give_up(struct cgroup_host *host, enum cgroup_controller controller,
                    const char *format, ...) {
  struct buf text = BUF_INIT(BUF_LINE);
  va_list arguments;
  va_start(arguments, format);
  buf_vformat(&text, format, arguments);
  va_end(arguments);
  free(host->faults[controller]);
  host->faults[controller] = buf_take(&text);
}

bool cgroup_is_repeated(const struct cgroup *group, size_t place) {
  for (size_t i = 0; i < place; i++)
    if (group->directories[i] != NULL &&
        strcmp(group->directories[i], group->directories[place]) == 0)
      return true;
  return false;
}

struct cgroup *cgroup_child(const struct cgroup *parent, const char *name) {
  struct cgroup *group = mem_new(sizeof *group);
  group->version = parent->version;
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (parent->directories[i] != NULL)
      group->directories[i] = mem_format("%s/%s", parent->directories[i], name);
  return group;
}
