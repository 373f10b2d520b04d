/* What the two versions of control groups share; private to cgroup*.c. */
#ifndef CELLPOST_CGROUP_CGROUP_PRIVATE_H
#define CELLPOST_CGROUP_CGROUP_PRIVATE_H

#include "core/cgroup/cgroup.h"

#define CGROUP_CPU_PERIOD_US 100000

/* directories[] are absolute; NULL: that controller is not used. With version 2
 * all of them are equal. */
struct cgroup {
  int version;
  char *directories[CGROUP_COUNT];
};

struct cgroup_host {
  struct cgroup base;     /* what the instance's group stands in */
  struct cgroup instance; /* where kernels' groups are made */
  char *faults[CGROUP_COUNT];
  bool looked; /* the instance's are those of the base: nothing was made */
};

struct cgroup_backend {
  /* Makes the instance's group in each directory of host->base, named `name`,
   * and sets faults[] for the controllers that do not work. */
  void (*prepare)(struct cgroup_host *host, const char *name);
  int (*limit)(const struct cgroup *group, const struct cgroup_limits *limits,
               struct err *err);
  void (*read_usage)(const struct cgroup *group, struct cgroup_usage *ret);
  struct cgroup_watch (*watch)(const struct cgroup *group, int64_t soft);
  /* Keeps those in the group from running on, or kills them at once. */
  void (*freeze)(const struct cgroup *group, bool frozen);
  const char *cpu_file, *peak_file;
  int64_t cpu_unit; /* of what cpu_file counts in, in a microsecond */
};
extern const struct cgroup_backend cgroup_version_1, cgroup_version_2;
/* Of a group whose version is not 0. */
const struct cgroup_backend *cgroup_backend_of(const struct cgroup *group);

/* Gives a controller up, with the reason. */
void cgroup_give_up(struct cgroup_host *host, enum cgroup_controller controller,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int cgroup_open_file(const char *directory, const char *name, int flags);

/* Writes a text to, or reads at most size - 1 bytes of, <directory>/<name> in
 * one go. With errno set on failure. */
int cgroup_write(const char *directory, const char *name, const char *text);
int cgroup_write_number(const char *directory, const char *name, int64_t value);
int cgroup_read(const char *directory, const char *name, char *text,
                size_t size);

/* The number that is the whole file, or stands behind `key` at the start of a
 * line; -1: none ("max", too). A NULL directory has no files. */
int64_t cgroup_read_number(const char *directory, const char *name);
int64_t cgroup_read_key(const char *directory, const char *name,
                        const char *key);

/* Where the controllers of a process are mounted and where it stands in them.
 * Pure. */
void cgroup_locate(const struct cgroup_view *view, const char *base,
                   struct cgroup_host *host);

/* The group `name` in another one; nothing is made. */
struct cgroup *cgroup_child(const struct cgroup *parent, const char *name);

/* True when an earlier controller has the same directory. */
bool cgroup_is_repeated(const struct cgroup *group, size_t place);

void cgroup_clear(struct cgroup *group); /* members */

#endif
