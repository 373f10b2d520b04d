/* Rows to structs and back, by tables. Private to the store.
 *
 * A shape lists the members of a struct under the names of the table's columns.
 * A statement names its parameters and its result columns alike, so one table
 * serves every statement. Times and numbers that are unknown are NULL in the
 * database, and 0 or -1 in the struct. */
#ifndef CELLPOST_STORE_DATABASE_RECORD_H
#define CELLPOST_STORE_DATABASE_RECORD_H

#include <stddef.h>

#include "core/store/database/db.h"

enum field_kind {
  FIELD_TEXT,            /* char *, or NULL */
  FIELD_BYTES,           /* char * with its length in a size_t member */
  FIELD_DIGEST,          /* char[65]; "" is NULL */
  FIELD_JSON,            /* struct json *, or NULL */
  FIELD_INTEGER,         /* int64_t */
  FIELD_INTEGER_OR_ZERO, /* int64_t; 0 is NULL */
  FIELD_INTEGER_OR_NONE, /* int64_t; -1 is NULL */
  FIELD_BOOLEAN,         /* bool; 0 or 1 */
  FIELD_NAME,            /* an enum (int), stored by name */
};

struct field {
  const char *column;
  enum field_kind kind;
  size_t offset;
  size_t length_offset; /* FIELD_BYTES */
  size_t most; /* FIELD_BYTES: bytes that are loaded, cut at a character; 0: all
                */
  const char *const *names; /* FIELD_NAME: by value; NULL entries are NULL */
  int name_count;
};

struct shape {
  const struct field *fields;
  size_t count;
  size_t size; /* of the struct */
};

#define FIELD(struct_, member_, kind_)                                         \
  { .column = #member_, .kind = (kind_), .offset = offsetof(struct_, member_) }

/* Binds every parameter that is a column of the shape; others are left. */
void record_bind(struct statement *statement, const struct shape *shape,
                 const void *record);

/* Fills the members that the present row has a column for; the others become
 * empty (0, NULL). On failure nothing is left to free. */
int record_load(struct statement *statement, const struct shape *shape,
                void *record, struct err *err);

/* A copy of all members, with what they own. */
void record_copy(const struct shape *shape, const void *record, void *ret);

/* Frees what the members own and empties the struct. */
void record_free(const struct shape *shape, void *record);

/* Steps once. ERR_NOT_FOUND with "no such <what>" when there is no row. */
int record_one(struct statement *statement, const struct shape *shape,
               const char *what, void *record, struct err *err);

/* Steps to the end; the array (NULL when empty) is the caller's:
 * record_list_free. */
int record_list(struct statement *statement, const struct shape *shape,
                void **ret, size_t *count, struct err *err);
void record_list_free(const struct shape *shape, void *list, size_t count);

#endif
