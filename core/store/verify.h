/* Whether the history is what was written: SQLite's own structure, the
 * integrity chain, the digests of code and outputs. Reads in small steps, so
 * that it can go on beside a running service. */
#ifndef CELLPOST_STORE_VERIFY_H
#define CELLPOST_STORE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"

/* Checks the database at `path` without changing it. 0: it is in order, and
 * *runs were looked at. 1: *err names the first discrepancy. -1: it could not
 * be looked at (ERR_NOT_FOUND; ERR_CONFLICT: of another version). */
int verify_database(const char *path, int64_t *runs, struct err *err);

/* An artifact as the registry has it. */
struct verify_artifact {
  int64_t id;
  char *task, *name, *sha256;
  int64_t bytes;
  bool needed; /* by a run of a task that lives */
};

/* Artifacts with ids above `after`, at most `limit`. */
int verify_list_artifacts(struct store *store, int64_t after, int limit,
                          struct verify_artifact **ret, size_t *count,
                          struct err *err);
void verify_artifacts_free(struct verify_artifact *list, size_t count);
/* 1: the artifact is still in the registry; 0, -1. */
int verify_artifact_is_there(struct store *store, int64_t id, struct err *err);

/* 1: the run was removed by retention; 0, -1. */
int verify_run_was_removed(struct store *store, const char *run,
                           struct err *err);

#endif
