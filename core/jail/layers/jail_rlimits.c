#include "core/jail/layers/jail_rlimits.h"

#include <errno.h>
#include <sys/resource.h>

/* A program that takes core dumps (core_pattern "|…", core(5)) gets them with a
 * limit of 0, too, but not with one of 1 (Linux, fs/coredump.c); for a file 1
 * byte is too little. */
#define NO_CORE_DUMP 1

/* Never above what we have ourselves: only root could do that. */
static int set_limit(__rlimit_resource_t resource, int64_t value,
                     const char *name, struct err *err) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) == 0 && limit.rlim_max >= (rlim_t)value)
    limit.rlim_max = (rlim_t)value;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(resource, &limit) < 0)
    return err_errno(err, ERR_IO, errno, "cannot limit %s", name);
  return 0;
}

/* Who has a limit of 0 and is not root must keep it. */
static int forbid_core_dumps(struct err *err) {
  const struct rlimit limit = {NO_CORE_DUMP, NO_CORE_DUMP};
  return setrlimit(RLIMIT_CORE, &limit) == 0
             ? 0
             : set_limit(RLIMIT_CORE, 0, "core dumps", err);
}

int jail_rlimits_enter(const struct kernel_limits *limits, bool own_user,
                       struct err *err) {
  if (forbid_core_dumps(err) < 0 ||
      (limits->open_files > 0 &&
       set_limit(RLIMIT_NOFILE, limits->open_files, "open files", err) < 0) ||
      (limits->file_bytes > 0 &&
       set_limit(RLIMIT_FSIZE, limits->file_bytes, "file sizes", err) < 0) ||
      (own_user && limits->pids > 0 &&
       set_limit(RLIMIT_NPROC, limits->pids, "processes", err) < 0))
    return -1;
  return 0;
}
