/* What one kernel may use: from the configuration and from what its task asks
 * for (settings.limits), and the part of it that a process sets for itself. */
#ifndef CELLPOST_JAIL_JAIL_LIMITS_H
#define CELLPOST_JAIL_JAIL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"

struct jail_limits {
  int64_t memory; /* bytes, of all its processes together */
  int64_t pids;   /* processes and threads */
  double cpus;    /* processors' worth of time; 0: all there are */
  int64_t workspace_bytes, workspace_files;
  int64_t tmp_bytes;  /* of /tmp, and of /dev/shm */
  int64_t open_files; /* of one process */
  int64_t file_bytes; /* one file */
};

/* The defaults, with what the task asks for in their place. `wanted`: an object
 * (or NULL) with any of memory, pids, cpus, workspace_bytes, workspace_files,
 * each from a least that a kernel needs up to <name>_max of the configuration.
 * Pure. ERR_FIELD names the field and what would be right. */
int jail_limits_read(const struct conf *conf, const struct json *wanted,
                     struct jail_limits *ret, struct err *err);

/* Threads for numeric libraries: as many as processors can be used, at most
 * `most`. At least 1. */
int jail_limits_threads(const struct jail_limits *limits, int processors,
                        int most);

/* From where on memory counts as tight: a run is interrupted then, before the
 * limit itself ends the kernel. Pure. */
int64_t jail_limits_soft_memory(const struct jail_limits *limits);

/* In the kernel's process: no core dumps, open files, size of a file, and, when
 * the user is this kernel's alone, processes (setrlimit(2)). Never the address
 * space: numeric libraries reserve far more than they use. */
int jail_limits_enter(const struct jail_limits *limits, bool own_user,
                      struct err *err);

#endif
