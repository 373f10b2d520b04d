/* Table artifacts and run_artifacts: rich outputs stored as files. */
#ifndef CELLPOST_STORE_ARTIFACT_H
#define CELLPOST_STORE_ARTIFACT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct artifact_record {
  const char *sha256;
  const char *mime;
  const char *name; /* file name beneath the task's artifacts/ */
  int64_t bytes;
  int64_t width, height; /* 0: none */
  int64_t output;        /* index of the output in the run; -1: the full text */
};

/* For the store itself: links each artifact to the run (its sequence), within
 * somebody else's transaction, and makes those that the task has not had
 * before. */
struct db;
int artifact_add(struct db *db, const char *task, int64_t run,
                 const struct artifact_record *artifacts, size_t count,
                 struct err *err);

/* Copies with all that they point to. */
struct artifact_record *artifact_copy(const struct artifact_record *artifacts,
                                      size_t count);
void artifact_copy_free(struct artifact_record *artifacts, size_t count);

#endif
