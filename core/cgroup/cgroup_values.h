/* What a control group may use, has used, and tells. */
#ifndef CELLPOST_CGROUP_CGROUP_VALUES_H
#define CELLPOST_CGROUP_CGROUP_VALUES_H

#include <stdint.h>

/* The keeper's own group, with version 2. */
#define CGROUP_KEEPER "cellpost-keeper"

enum cgroup_controller {
  CGROUP_MEMORY,
  CGROUP_PIDS,
  CGROUP_CPU,
  CGROUP_ACCOUNT, /* CPU time used; version 2 has it everywhere */
  CGROUP_FREEZER, /* likewise */
  CGROUP_COUNT,
};

struct cgroup_limits {
  int64_t memory; /* bytes, no swap on top */
  int64_t pids;   /* processes and threads */
  double cpus;    /* processors' worth of time; 0: no limit */
};

struct cgroup_usage {
  int64_t cpu_us; /* -1: not known, as everywhere here */
  int64_t memory, memory_peak, memory_limit; /* bytes, page cache included */
  int64_t memory_fixed; /* the part that cannot be given back: no page cache */
  int64_t oom_kills;    /* processes killed for lack of memory */
  int64_t pids, pids_refused; /* now; forks that failed at the limit */
};

/* What a process knows of the host's groups. */
struct cgroup_view {
  const char *mountinfo;  /* the text of /proc/self/mountinfo */
  const char *membership; /* the text of /proc/self/cgroup */
};

/* poll(2) `descriptor` for `events`. It may speak up too often, and for page
 * cache too: the usage tells. */
struct cgroup_watch {
  int descriptor; /* -1: there is no such thing here */
  short events;
};

#endif
