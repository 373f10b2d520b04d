/* What stands in a task's workspace, by its path: looked at, made, moved. Paths
 * as in files.h; "" is the workspace itself. */
#ifndef CELLPOST_RUN_FILES_FILES_TREE_H
#define CELLPOST_RUN_FILES_FILES_TREE_H

#include <sys/stat.h>

#include "core/base/err.h"
#include "core/run/engine/engine.h"

/* lstat(2). ERR_NOT_FOUND. */
int files_tree_stat(struct engine *engine, const char *task, const char *path,
                    struct stat *ret, struct err *err);

/* A directory, with those above it. ERR_CONFLICT: something stands there. */
int files_tree_make(struct engine *engine, const char *task, const char *path,
                    struct err *err);

/* Replaces a file that stands at `to`, as rename(2) does. ERR_NOT_FOUND,
 * ERR_CONFLICT. */
int files_tree_move(struct engine *engine, const char *task, const char *from,
                    const char *to, struct err *err);

#endif
