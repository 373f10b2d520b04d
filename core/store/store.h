/* The registry and the history: cellpost.db, one file per table behind this.
 *
 * A `struct store` is a small pool of SQLite connections, safe for all threads:
 * one writer (guarded by a mutex, so that threads of one process never spin on
 * SQLITE_BUSY) and a few readers. Every function below and in the table headers
 * is one whole operation: one statement, or one BEGIN IMMEDIATE transaction.
 * No transaction is ever open while a kernel runs.
 *
 * Times are wall-clock microseconds (clock.h). Texts given in are borrowed and
 * repaired when not UTF-8; NULs are kept. Texts given out belong to the record
 * (…_record_free). ERR_NOT_FOUND, ERR_CONFLICT, ERR_NO_SPACE (disk full),
 * ERR_UNAVAILABLE (its file or disk, or another process; the text says what to
 * do). */
#ifndef CELLPOST_STORE_STORE_H
#define CELLPOST_STORE_STORE_H

#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/conf/conf.h"

struct store;

/* Opens or makes the database at `path`, runs the migrations of
 * sql/migrations in one transaction, refuses a newer database. Files are made
 * with mode 0640. WAL; synchronous FULL for CONF_SYNC_ALWAYS, else NORMAL. */
int store_open(const char *path, enum conf_sync sync, struct store **ret,
               struct err *err);
void store_close(struct store *store); /* NULL is fine */

/* Starts a thread that copies the write-ahead log into the database when it has
 * grown, and, for CONF_SYNC_BACKGROUND, makes every commit durable within a
 * second, so that no request pays for either. Without it every 1000th page
 * (4 MiB) is paid by the commit that writes it. At most once per store;
 * store_close ends the thread. Not for a process that forks to run C code. */
int store_maintain(struct store *store, struct err *err);

/* What a request may wait, all in all. */
#define STORE_PATIENCE (10 * CLOCK_S)

/* What the calls of this thread may wait from now on, all together, for another
 * process's lock and for our own connections, in nanoseconds; then they fail
 * with ERR_UNAVAILABLE at once. Negative, which is how a thread begins: ten
 * seconds for each. What was going on within SQLite by then is finished. */
void store_set_patience(int64_t nanoseconds);

/* Whether the database can be used: the file is the one that was opened, looks
 * like one and takes a row, tried with a connection of its own within a second.
 * ERR_UNAVAILABLE (locked, read-only, damaged, deleted, a failing disk),
 * ERR_NO_SPACE. */
int store_probe(struct store *store, struct err *err);

/* A process of ours that started: rows tell which runs a dead process left. */
int store_instance_start(struct store *store, const char *id,
                         const char *program, int64_t pid, int64_t pid_start,
                         struct err *err);
int store_instance_end(struct store *store, const char *id, struct err *err);

#endif
