/* What one kernel may use: from the configuration and from what its task asks
 * for (settings.limits). Pure. */
#ifndef CELLPOST_PROCESS_KERNEL_LIMITS_H
#define CELLPOST_PROCESS_KERNEL_LIMITS_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"

struct kernel_limits {
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
 * ERR_FIELD names the field and what would be right. */
int kernel_limits_read(const struct conf *conf, const struct json *wanted,
                       struct kernel_limits *ret, struct err *err);

/* Threads for numeric libraries: as many as processors can be used, at most
 * `most`. At least 1. */
int kernel_limits_threads(const struct kernel_limits *limits, int processors,
                          int most);

/* From where on memory counts as tight: a run is interrupted then, before the
 * limit itself ends the kernel. Pure. */
int64_t kernel_limits_soft_memory(const struct kernel_limits *limits);

#endif
