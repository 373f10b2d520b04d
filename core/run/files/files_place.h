/* Where the files of a task are, and which names may stand there. */
#ifndef CELLPOST_RUN_FILES_FILES_PLACE_H
#define CELLPOST_RUN_FILES_FILES_PLACE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/run/engine/engine.h"

struct files_place {
  int task;  /* its directory, which no kernel reaches */
  int files; /* files/ in it */
};

/* Opens them. `by` makes the task when it is missing and may be made
 * (auto_create); NULL: it must be there. ERR_NOT_FOUND. */
int files_place_open(struct engine *engine, const char *task, const char *by,
                     struct files_place *ret, struct err *err);
void files_place_close(struct files_place *place); /* members, also cleanup */

/* Keeps others from putting anything into the task's files until `place` is
 * closed. */
int files_place_lock(const struct files_place *place, struct err *err);

/* True for a name that can be told and asked for: valid UTF-8, neither "." nor
 * "..", no control characters. Pure. */
bool files_place_is_name(const char *name);

/* ERR_INVALID unless `path` is made of such names. Pure. */
int files_place_check(const char *path, struct err *err);

/* Opens the directory that is to hold `path`, making what is missing; *name is
 * its last part. */
int files_place_open_parent(int files, const char *path, const char **name,
                            struct err *err);

#endif
