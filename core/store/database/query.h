/* The statements of sql/queries, by name. Private to the store.
 *
 * A block starts with a line "-- name: some_name" and ends before the next such
 * line. The texts are compiled in and live for ever. */
#ifndef CELLPOST_STORE_DATABASE_QUERY_H
#define CELLPOST_STORE_DATABASE_QUERY_H

#include <stddef.h>

struct query {
  const char *name; /* not NUL-terminated */
  size_t name_length;
  const char *text; /* not NUL-terminated */
  size_t text_length;
};

/* All of them, sorted by name. The same for every thread. */
const struct query *query_all(size_t *count);

/* The index in query_all() of the statement called `name`, or -1. */
int query_find(const char *name);

/* The text of an embedded file by its path, as "sql/views.sql"; NULL: none. */
const char *query_file(const char *path);

#endif
