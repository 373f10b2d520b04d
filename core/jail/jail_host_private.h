/* What jail_host.c and jail_survey.c share. */
#ifndef CELLPOST_JAIL_JAIL_HOST_PRIVATE_H
#define CELLPOST_JAIL_JAIL_HOST_PRIVATE_H

#include "core/base/id.h"
#include "core/jail/jail_host.h"

/* One kernel that runs. */
struct inmate {
  struct inmate *next;
  char id[ID_UUID_SIZE];
  int64_t uid; /* -1: none of its own */
  struct cgroup *group;
};

struct jail_host {
  const struct conf *conf;
  struct jail plain; /* who a kernel is without a user of its own */
  unsigned layers;
  struct jail_status status[JAIL_LAYERS];
  struct cgroup_host *groups;
  struct jail_filter *filter;
  int landlock_abi;
  struct inmate *inmates;
  int64_t uid_begin; /* where to look for a free user first */
};

#endif
