/* What a task's files may take of the disk, for what comes from outside. */
#ifndef CELLPOST_RUN_FILES_FILES_QUOTA_H
#define CELLPOST_RUN_FILES_FILES_QUOTA_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/fs_usage.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"

struct files_quota {
  struct fs_usage most; /* the task's limits */
  struct fs_usage used;
};

/* Counts what is there. */
int files_quota_open(struct engine *engine, const char *task, int files,
                     struct files_quota *ret, struct err *err);

/* ERR_NO_SPACE when `more` does not fit; its text has the figures, and *details
 * (may be NULL) receives {"limit", "most", "used", "needed"}. Pure. */
int files_quota_check(const struct files_quota *quota, struct fs_usage more,
                      struct json **details, struct err *err);

/* What a file of so many bytes adds at `path`, where another one may stand that
 * it replaces. */
struct fs_usage files_quota_of_file(int files, const char *path, int64_t bytes);

#endif
