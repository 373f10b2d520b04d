/* What db.c and db_statement.c share: SQLite's own handles. */
#ifndef CELLPOST_STORE_DATABASE_DB_HANDLE_H
#define CELLPOST_STORE_DATABASE_DB_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "core/base/err.h"

struct statement {
  struct db *db;
  sqlite3_stmt *handle; /* NULL: not prepared yet, or unknown */
  const char *fault;    /* of a bind, told by the next step; or NULL */
  int parameter; /* the one bound last: the next is usually its follower */
  bool stepped;  /* is at a row */
};

struct db {
  sqlite3 *handle;
  struct statement *statements; /* as query_all() */
  size_t count;
  struct statement unknown; /* stands in for a name that does not exist */
  int64_t deadline;         /* monotonic ns: until then it waits for a lock */
  int wal_pages;
};

/* Tells what the failure of `what` with SQLite's result `code` means, and what
 * there is to do. Returns -1, or DB_LOCKED. */
int db_fail(const struct db *db, int code, const char *what, struct err *err);

#endif
