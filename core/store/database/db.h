/* The one door to SQLite: connections and statements. Private to the store.
 *
 * A `struct db` is one connection, for one thread at a time. It is opened after
 * a fork, never taken through one: POSIX locks are not inherited
 * (sqlite.org/howtocorrupt.html). Nobody else may open or close the database
 * file: closing any descriptor of it drops the locks of the whole process.
 *
 * Statements are the ones of sql/queries, prepared once per connection and kept
 * (SQLITE_PREPARE_PERSISTENT). Binding cannot fail visibly: a fault is
 * remembered and told by statement_step or statement_run. */
#ifndef CELLPOST_STORE_DATABASE_DB_H
#define CELLPOST_STORE_DATABASE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/json/json.h"

struct db;
struct statement;

/* How long a new connection waits for another process's lock; it waits no
 * longer until it is given another deadline. */
#define DB_PATIENCE (10 * CLOCK_S)

/* A failure, negative as all are: another process has kept its lock until the
 * deadline. */
#define DB_LOCKED (-2)

enum db_role {
  DB_WRITER,
  DB_READER, /* query_only: a write is refused */
};

/* Opens the database, which must exist as a file (an empty one will do).
 * `durable`: a commit is on disk before it returns (synchronous=FULL); else a
 * commit survives every death of a process, but not a loss of power.
 * WAL mode is db_use_wal's matter. What the database's disk or file is to blame
 * for is ERR_UNAVAILABLE or ERR_NO_SPACE, and the text says what to do. */
int db_open(const char *path, enum db_role role, bool durable, struct db **ret,
            struct err *err);
void db_close(struct db *db); /* NULL is fine */
void db_done(struct db **db); /* the cleanup form */

/* Until when (clock_monotonic_ns) the connection waits for a lock from now on.
 */
void db_set_deadline(struct db *db, int64_t deadline_ns);

/* Turns WAL on (persistent). ERR_UNAVAILABLE when the file system
 * cannot do it. */
int db_use_wal(struct db *db, struct err *err);

/* BEGIN IMMEDIATE: waits for its turn at once, so that nothing inside fails for
 * a lock. DB_LOCKED: it waited in vain. db_rollback is harmless when there is
 * no transaction. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);

/* Runs a text of any number of statements; the results are dropped. */
int db_execute(struct db *db, const char *sql, struct err *err);

/* The first column of the first row of `sql`. ERR_NOT_FOUND: no row. */
int db_integer(struct db *db, const char *sql, int64_t *ret, struct err *err);

/* The same as text, which is the caller's; NULL becomes "". */
int db_text(struct db *db, const char *sql, char **ret, struct err *err);

/* Writes a copy of the whole database, as it is now, into an empty file. */
int db_copy_into(struct db *db, const char *path, struct err *err);

/* Copies as much of the WAL into the database as readers allow, without waiting
 * for anybody (SQLITE_CHECKPOINT_PASSIVE). Gives the pages in the WAL and those
 * copied so far. */
int db_checkpoint(struct db *db, int *wal_pages, int *copied, struct err *err);

/* Makes what is in the WAL durable. */
int db_sync_wal(struct db *db, struct err *err);

/* Looks at the first bytes of the file itself, past the log and all caches:
 * something else may have been written over it. */
int db_check_header(struct db *db, struct err *err);

/* Pages in the WAL after the last commit of this connection. */
int db_wal_pages(const struct db *db);

/* The statement `name`, reset and with all parameters NULL. Never NULL. It is
 * the connection's, and there is one of each: not to be used twice at once. */
struct statement *db_statement(struct db *db, const char *name);

/* Resets every statement that is at a row: ends the read transactions. */
void db_reset(struct db *db);

/* Binding, by name without the colon. Texts are repaired when they are not
 * UTF-8. The bytes are borrowed until the statement is reset. NULL texts are
 * SQL's NULL; a NULL json is, too. */
void statement_bind_null(struct statement *statement, const char *name);
void statement_bind_integer(struct statement *statement, const char *name,
                            int64_t value);
void statement_bind_text(struct statement *statement, const char *name,
                         const char *text);
void statement_bind_bytes(struct statement *statement, const char *name,
                          const char *text, size_t length);
void statement_bind_json(struct statement *statement, const char *name,
                         const struct json *value);
/* The parameters, counted from 0; NULL: there is no such parameter. */
const char *statement_parameter(struct statement *statement, int index);

/* 1: there is a row; 0: the end, and the statement is reset. */
int statement_step(struct statement *statement, struct err *err);

/* Steps to the end and returns the number of rows changed. */
int statement_run(struct statement *statement, struct err *err);

/* The columns of the present row, counted from 0. Texts are the statement's
 * until the next step; NULL is NULL, 0 or `otherwise`. */
int statement_columns(struct statement *statement);
const char *statement_column_name(struct statement *statement, int column);
const char *statement_text(struct statement *statement, int column,
                           size_t *length);
int64_t statement_integer(struct statement *statement, int column,
                          int64_t otherwise);
/* A JSON column, parsed; *ret is the caller's, NULL for NULL. */
int statement_json(struct statement *statement, int column, struct json **ret,
                   struct err *err);

#endif
