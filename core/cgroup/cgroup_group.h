/* A group as directories, and what is different in the two versions. Only
 * cgroup*.c include this. */
#ifndef CELLPOST_CGROUP_CGROUP_GROUP_H
#define CELLPOST_CGROUP_CGROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/cgroup/cgroup_values.h"

#define CGROUP_CPU_PERIOD_US 100000

/* directories[] are absolute; NULL: that controller is not used. With version 2
 * all of them are equal. */
struct cgroup {
  int version;
  char *directories[CGROUP_COUNT];
};

struct cgroup_host {
  struct cgroup base;     /* the parent of the instance's group */
  struct cgroup instance; /* where kernels' groups are made */
  char *faults[CGROUP_COUNT];
  bool looked; /* the instance's are those of the base: nothing was made */
};

/* What the versions call things, and what they do differently. */
struct cgroup_backend {
  const char *cpu_file, *cpu_key; /* NULL: the whole file is a number */
  int64_t cpu_unit;               /* of that number, in a microsecond */
  const char *memory_file, *peak_file, *limit_file;
  const char *anonymous_key, *shared_key; /* in memory.stat */
  const char *oom_file;                   /* where oom_kill is counted */

  /* Makes the instance's group in each directory of host->base, named `name`,
   * and sets faults[] for the controllers that do not work. */
  void (*prepare)(struct cgroup_host *host, const char *name);
  /* With errno set on failure. */
  int (*limit_memory)(const char *directory, int64_t bytes);
  int (*limit_cpu)(const char *directory, int64_t quota_us);
  struct cgroup_watch (*watch)(const struct cgroup *group, int64_t soft);
  /* Keeps those in the group from running on, or kills them at once. */
  void (*freeze)(const struct cgroup *group, bool frozen);
};
extern const struct cgroup_backend cgroup_version_1, cgroup_version_2;
/* Of a group whose version is not 0. */
const struct cgroup_backend *cgroup_backend_of(const struct cgroup *group);

/* Gives a controller up, with the reason. */
void cgroup_give_up(struct cgroup_host *host, enum cgroup_controller controller,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds where the controllers of a process are mounted, and its group in each.
 * Pure. */
void cgroup_locate(const struct cgroup_view *view, const char *base,
                   struct cgroup_host *host);

/* The group `name` in another one; nothing is made. */
struct cgroup *cgroup_child(const struct cgroup *parent, const char *name);

/* True when an earlier controller has the same directory. */
bool cgroup_is_repeated(const struct cgroup *group, size_t place);

void cgroup_clear(struct cgroup *group); /* members */

#endif
