/* Table tasks: one row a task; a deleted one keeps its row for the audit. */
#ifndef CELLPOST_STORE_TASK_H
#define CELLPOST_STORE_TASK_H

#include <stdbool.h>

#include "core/access/rights.h"
#include "core/json/json.h"
#include "core/store/store.h"

struct task_record {
  char *id;
  char *kernelspec;
  struct json *settings; /* object: env, limits, init_code, packages … */
  char *created_by;
  int64_t created_at;
  int64_t deleted_at; /* 0: it lives */
  /* from other tables, for lists */
  int64_t runs;        /* accepted so far */
  int64_t last_run_at; /* 0: none */
  char *last_status;   /* or NULL */
};
void task_record_free(struct task_record *record); /* members, also cleanup */

/* Makes the task, or revives a deleted one. When it lives already: the same
 * kernelspec and settings give 0 (idempotent), another init_code is taken and
 * gives 2, others are ERR_CONFLICT. Returns 1 when it was made. settings may be
 * NULL ({}). */
int task_put(struct store *store, const char *id, const char *kernelspec,
             const struct json *settings, const char *created_by,
             struct err *err);
int task_get(struct store *store, const char *id, struct task_record *ret,
             struct err *err); /* deleted ones are ERR_NOT_FOUND */
/* Living tasks within the rights (NULL: all) by id, after `after` (NULL: from
 * the start), at most `limit`.
 * The array (*ret) and its members are the caller's: task_list_free. */
int task_list(struct store *store, const struct rights *rights,
              const char *after, int limit, struct task_record **ret,
              size_t *count, struct err *err);
void task_list_free(struct task_record *list, size_t count);
/* Runs that ended otherwise than well, cancelled ones apart. The cost grows
 * with their number. */
int task_count_failures(struct store *store, const char *id, int64_t *ret,
                        struct err *err);
int task_delete(struct store *store, const char *id, struct err *err);

#endif
