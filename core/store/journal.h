/* Table journal: what was done that is no run, one row each, in the order in
 * which it was done. Each row's hash covers the row and the hash before it, so
 * that a row cannot be changed or taken out unseen (core/store/verify.h). */
#ifndef CELLPOST_STORE_JOURNAL_H
#define CELLPOST_STORE_JOURNAL_H

#include <stdint.h>

#include "core/json/json.h"
#include "core/store/store.h"

struct db;

/* On whose behalf a thread works. Texts are borrowed. */
struct journal_origin {
  const char *caller;
  int64_t token;          /* 0: none */
  const char *address;    /* or NULL */
  const char *request_id; /* or NULL */
};

/* From here on for the calling thread, until it is told another (NULL: nobody,
 * the program itself). */
void journal_set_origin(const struct journal_origin *origin);

/* Appends a row within a transaction. kind: "token.added", "token.rotated",
 * "token.revoked", "session.opened", "session.closed",
 * "task.created", "task.changed", "task.deleted", "file.put", "file.deleted",
 * "link.made". `task` and `content` (an object) may be NULL. */
int journal_add(struct db *db, const char *kind, const char *task,
                const struct json *content, struct err *err);

/* The same as a transaction of its own. */
int journal_append(struct store *store, const char *kind, const char *task,
                   const struct json *content, struct err *err);

/* Whether every row has its hash: 0; 1: *err names the first that has not;
 * -1. */
int journal_check(struct db *db, struct err *err);

#endif
