/* Removing what is too old or too much. Each call is one small transaction, so
 * that runs go on meanwhile; the caller pauses between two.
 *
 * A run that goes leaves its row in `chain`, marked with when and why. The
 * newest run of a task and open ones stay always. */
#ifndef CELLPOST_STORE_RETENTION_H
#define CELLPOST_STORE_RETENTION_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"

/* Artifacts that no run has any more: their rows are gone, the files are the
 * caller's to remove. */
struct retention_file {
  char *task, *name;
};
struct retention_files {
  struct retention_file *list;
  size_t count;
};
void retention_files_free(struct retention_files *files); /* members; cleanup */

/* Which runs may go. */
struct retention_rule {
  const char *why;  /* one word for the chain: "age", "bytes" */
  const char *task; /* NULL: all */
  int64_t before;   /* ended before this time; INT64_MAX: any */
  int64_t cut;      /* sequence of the last that may go; with `task` */
};

/* Looks at most at `most` runs behind *after (a sequence, 0 to begin with),
 * which moves on; removes those that may go, adds their artifacts to *files and
 * their number to *removed. Returns 1, or 0 when there are no more. */
int retention_remove_runs(struct store *store,
                          const struct retention_rule *rule, int most,
                          int64_t *after, int64_t *removed,
                          struct retention_files *files, struct err *err);

/* 1: the task's history (code, texts, outputs, artifacts) takes more than
 * `bytes`, and the runs up to sequence *cut are those beyond. 0: it does not.
 */
int retention_find_cut(struct store *store, const char *task, int64_t bytes,
                       int64_t *cut, struct err *err);

/* Removes at most `most` events from before that time; returns how many. */
int retention_remove_events(struct store *store, int64_t before, int most,
                            struct err *err);

/* Tasks by id behind `after`, deleted ones, too. */
struct retention_task {
  char *id;
  int64_t deleted_at; /* 0: it lives */
};
int retention_list_tasks(struct store *store, const char *after, int most,
                         struct retention_task **ret, size_t *count,
                         struct err *err);
void retention_tasks_free(struct retention_task *list, size_t count);

/* 1: there is or was a task of that name; 0, -1. */
int retention_knows_task(struct store *store, const char *task,
                         struct err *err);

/* 1: the registry has that artifact; 0, -1. */
int retention_knows_artifact(struct store *store, const char *task,
                             const char *name, struct err *err);

#endif
