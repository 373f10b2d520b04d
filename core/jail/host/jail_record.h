/* What the keeper must know of a jailed kernel after it was started again:
 * lines in the file "jail" of the shim's directory. */
#ifndef CELLPOST_JAIL_HOST_JAIL_RECORD_H
#define CELLPOST_JAIL_HOST_JAIL_RECORD_H

#include "core/base/err.h"
#include "core/cgroup/cgroup.h"

struct jail_record {
  int64_t uid; /* the kernel's own; -1: it has none */
  struct cgroup *group;
};

int jail_record_write(int directory, const struct jail_record *record,
                      struct err *err);
/* ERR_NOT_FOUND: there is none; ERR_INVALID. The group is the caller's. */
int jail_record_read(int directory, struct jail_record *ret, struct err *err);

#endif
