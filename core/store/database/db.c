#include "core/store/database/db.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/db_handle.h"
#include "core/store/database/query.h"

static void configure_library(void) {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_initialize();
}

static enum err_kind kind_of_constraint(int extended) {
  switch (extended) {
  case SQLITE_CONSTRAINT_TRIGGER:
  case SQLITE_CONSTRAINT_UNIQUE:
  case SQLITE_CONSTRAINT_PRIMARYKEY:
  case SQLITE_CONSTRAINT_FOREIGNKEY:
    return ERR_CONFLICT;
  default:
    return ERR_INTERNAL;
  }
}

static bool is_full(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

enum err_kind db_kind_of(sqlite3 *handle, int code) {
  switch (code & 0xff) {
  case SQLITE_FULL:
    return ERR_NO_SPACE;
  case SQLITE_IOERR:
  case SQLITE_CANTOPEN:
    return is_full(sqlite3_system_errno(handle)) ? ERR_NO_SPACE : ERR_IO;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return ERR_UNAVAILABLE;
  case SQLITE_PERM:
  case SQLITE_READONLY:
  case SQLITE_AUTH:
    return ERR_DENIED;
  case SQLITE_TOOBIG:
    return ERR_TOO_LARGE;
  case SQLITE_CONSTRAINT:
    return kind_of_constraint(sqlite3_extended_errcode(handle));
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_PROTOCOL:
    return ERR_IO;
  default:
    return ERR_INTERNAL;
  }
}

static int fail(struct db *db, int code, const char *what, struct err *err) {
  return err_set(err, db_kind_of(db->handle, code), "database, %s: %s", what,
                 sqlite3_errmsg(db->handle));
}

/* SQLite's own handler waits a millisecond and more; our transactions take some
 * ten microseconds, so the first waits are short. */
static int wait_for_turn(void *context, int waits) {
  struct db *db = context;
  int64_t now = clock_monotonic_ns();
  if (waits == 0)
    db->busy_since = now;
  if (now - db->busy_since > DB_BUSY_SECONDS * CLOCK_S)
    return 0;
  long pause = waits < 8 ? 20000L << waits : 5000000L;
  struct timespec time = {.tv_nsec = pause};
  nanosleep(&time, NULL);
  return 1;
}

/* Checkpoints are the background's matter (pool.c), not the committer's: the
 * hook replaces SQLite's automatic checkpoint. */
static int note_wal_pages(void *context, sqlite3 *handle, const char *name,
                          int pages) {
  (void)handle;
  (void)name;
  struct db *db = context;
  db->wal_pages = pages;
  return SQLITE_OK;
}

static int configure(struct db *db, enum db_role role, bool durable,
                     struct err *err) {
  sqlite3_extended_result_codes(db->handle, 1);
  sqlite3_busy_handler(db->handle, wait_for_turn, db);
  sqlite3_wal_hook(db->handle, note_wal_pages, db);
  sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  /* secure_delete: Debian's default overwrites all that is freed; FAST does so
   * only where it costs no further page. trusted_schema stays on: SQLite 3.40
   * counts its JSON functions as unsafe in CHECKs and views, and the schema is
   * our own, in a file that nobody else may write. A small cache does: the
   * system's page cache stands behind it (measured at 1,000,000 runs). */
  if (db_execute(
          db,
          "PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;"
          "PRAGMA secure_delete = FAST; PRAGMA temp_store = MEMORY;"
          "PRAGMA cache_size = -1024; PRAGMA journal_size_limit = 33554432;",
          err) < 0)
    return -1;
  if (role == DB_READER)
    return db_execute(db, "PRAGMA query_only = ON", err);
  return db_execute(
      db, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
      err);
}

static struct db *new_db(void) {
  struct db *db = mem_new(sizeof *db);
  query_all(&db->count);
  db->statements = mem_array(db->count, sizeof *db->statements);
  for (size_t i = 0; i < db->count; i++)
    db->statements[i].db = db;
  db->unknown.db = db;
  return db;
}

int db_open(const char *path, enum db_role role, bool durable, struct db **ret,
            struct err *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, configure_library);
  struct db *db = new_db();
  int code = sqlite3_open_v2(path, &db->handle,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             NULL);
  if (code != SQLITE_OK) {
    fail(db, code, path, err);
    db_close(db);
    return -1;
  }
  if (configure(db, role, durable, err) < 0) {
    db_close(db);
    return -1;
  }
  *ret = db;
  return 0;
}

void db_close(struct db *db) {
  if (db == NULL)
    return;
  for (size_t i = 0; i < db->count; i++)
    sqlite3_finalize(db->statements[i].handle);
  sqlite3_close(db->handle);
  free(db->statements);
  free(db);
}

/* Changing the mode needs the file for itself and does not always ask the busy
 * handler, so that two processes that make a database at once collide here. */
int db_use_wal(struct db *db, struct err *err) {
  int code;
  int waits = 0;
  do
    code =
        sqlite3_exec(db->handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
  while ((code & 0xff) == SQLITE_BUSY && wait_for_turn(db, waits++));
  if (code != SQLITE_OK)
    return fail(db, code, "write-ahead log", err);
  sqlite3_stmt *mode = NULL;
  sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode", -1, &mode, NULL);
  bool is_wal = mode != NULL && sqlite3_step(mode) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(mode, 0), "wal") == 0;
  sqlite3_finalize(mode);
  if (!is_wal)
    return err_set(err, ERR_IO,
                   "database: the file system cannot hold a write-ahead log");
  return 0;
}

int db_execute(struct db *db, const char *sql, struct err *err) {
  int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? 0 : fail(db, code, "script", err);
}

int db_integer(struct db *db, const char *sql, int64_t *ret, struct err *err) {
  sqlite3_stmt *handle = NULL;
  int code = sqlite3_prepare_v2(db->handle, sql, -1, &handle, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_step(handle);
  int status = 0;
  if (code == SQLITE_ROW)
    *ret = sqlite3_column_int64(handle, 0);
  else if (code == SQLITE_DONE)
    status = err_set(err, ERR_NOT_FOUND, "database: no row for %s", sql);
  else
    status = fail(db, code, sql, err);
  sqlite3_finalize(handle);
  return status;
}

int db_text(struct db *db, const char *sql, char **ret, struct err *err) {
  sqlite3_stmt *handle = NULL;
  int code = sqlite3_prepare_v2(db->handle, sql, -1, &handle, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_step(handle);
  int status = 0;
  if (code == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(handle, 0);
    *ret = mem_copy_text(text == NULL ? "" : text);
  } else {
    status = code == SQLITE_DONE
                 ? err_set(err, ERR_NOT_FOUND, "database: no row for %s", sql)
                 : fail(db, code, sql, err);
  }
  sqlite3_finalize(handle);
  return status;
}

int db_copy_into(struct db *db, const char *path, struct err *err) {
  sqlite3_stmt *handle = NULL;
  int code = sqlite3_prepare_v2(db->handle, "VACUUM INTO ?", -1, &handle, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_bind_text(handle, 1, path, -1, SQLITE_STATIC);
  if (code == SQLITE_OK)
    code = sqlite3_step(handle);
  int status = code == SQLITE_DONE ? 0 : fail(db, code, "copying", err);
  sqlite3_finalize(handle);
  return status;
}

int db_begin(struct db *db, struct err *err) {
  return statement_run(db_statement(db, "begin"), err) < 0 ? -1 : 0;
}

int db_commit(struct db *db, struct err *err) {
  return statement_run(db_statement(db, "commit"), err) < 0 ? -1 : 0;
}

void db_rollback(struct db *db) {
  db_reset(db);
  if (!sqlite3_get_autocommit(db->handle))
    statement_run(db_statement(db, "rollback"), NULL);
}

int db_checkpoint(struct db *db, int *wal_pages, int *copied, struct err *err) {
  int pages = -1, done = -1;
  int code = sqlite3_wal_checkpoint_v2(
      db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
  /* Busy: somebody else is at it. */
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
    return fail(db, code, "checkpoint", err);
  *wal_pages = pages;
  *copied = done;
  return 0;
}

int db_sync_wal(struct db *db, struct err *err) {
  sqlite3_file *file = NULL;
  sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (file == NULL || file->pMethods == NULL)
    return 0;
  int code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  return code == SQLITE_OK ? 0
                           : err_set(err, ERR_IO, "database: log not synced");
}

int db_wal_pages(const struct db *db) { return db->wal_pages; }
