/* Table sandboxes: tasks that were made through the E2B interface and end at a
 * time. One that has ended is not found any more. */
#ifndef CELLPOST_STORE_SANDBOX_H
#define CELLPOST_STORE_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/store/store.h"

struct sandbox_record {
  char *task;
  char *template;
  struct json *metadata; /* an object */
  int64_t started_at, ends_at;
  int64_t ended_at; /* 0: it lives */
};
void sandbox_record_free(struct sandbox_record *record); /* members; cleanup */

int sandbox_add(struct store *store, const struct sandbox_record *record,
                struct err *err);

/* ERR_NOT_FOUND. */
int sandbox_get(struct store *store, const char *task,
                struct sandbox_record *ret, struct err *err);

/* By task, behind `after` (NULL: from the start). sandbox_list_free. */
int sandbox_list(struct store *store, const char *after, int limit,
                 struct sandbox_record **ret, size_t *count, struct err *err);
void sandbox_list_free(struct sandbox_record *list, size_t count);

/* ERR_NOT_FOUND. */
int sandbox_prolong(struct store *store, const char *task, int64_t ends_at,
                    struct err *err);

/* It has ended. ERR_NOT_FOUND: it had already. */
int sandbox_end(struct store *store, const char *task, struct err *err);

/* The one that ends first. ERR_NOT_FOUND: there is none. */
int sandbox_next(struct store *store, struct sandbox_record *ret,
                 struct err *err);

#endif
