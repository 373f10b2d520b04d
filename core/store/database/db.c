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

/* What is no fault of the request nor of the program, and what there is to do.
 */
static const struct {
  int code;
  enum err_kind kind;
  const char *advice;
} troubles[] = {
    {SQLITE_FULL, ERR_NO_SPACE, "make room on its disk"},
    {SQLITE_BUSY, ERR_UNAVAILABLE,
     "another process holds its lock; try again when that one is done"},
    {SQLITE_LOCKED, ERR_UNAVAILABLE, "try again"},
    {SQLITE_READONLY, ERR_UNAVAILABLE,
     "its disk, directory or file is read-only for this service; make it "
     "writable"},
    {SQLITE_PERM, ERR_UNAVAILABLE, "make its file writable for this service"},
    {SQLITE_CANTOPEN, ERR_UNAVAILABLE,
     "its file and its directory must be there, and writable for this service"},
    {SQLITE_IOERR, ERR_UNAVAILABLE, "its disk fails; see the system's log"},
    {SQLITE_CORRUPT, ERR_UNAVAILABLE,
     "it is damaged: stop the service and put a copy of it in its place"},
    {SQLITE_NOTADB, ERR_UNAVAILABLE,
     "it is damaged, or another program's: stop the service and put a copy of "
     "it in its place"},
    {SQLITE_PROTOCOL, ERR_UNAVAILABLE, "try again"},
};

/* A disk that is full or read-only comes as a failing one, too. */
static int true_code(const struct db *db, int code) {
  int number = sqlite3_system_errno(db->handle);
  if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN)
    return code;
  if (number == ENOSPC || number == EDQUOT || number == EFBIG)
    return SQLITE_FULL;
  return number == EROFS ? SQLITE_READONLY : code;
}

int db_fail(const struct db *db, int code, const char *what, struct err *err) {
  int primary = true_code(db, code & 0xff);
  const char *message = sqlite3_errmsg(db->handle);
  for (size_t i = 0; i < COUNT_OF(troubles); i++) {
    if (troubles[i].code != primary)
      continue;
    err_set(err, troubles[i].kind, "the database cannot be used (%s: %s): %s",
            what, message, troubles[i].advice);
    return primary == SQLITE_BUSY ? DB_LOCKED : -1;
  }
  enum err_kind kind =
      primary == SQLITE_TOOBIG ? ERR_TOO_LARGE
      : primary == SQLITE_CONSTRAINT
          ? kind_of_constraint(sqlite3_extended_errcode(db->handle))
          : ERR_INTERNAL;
  return err_set(err, kind, "database, %s: %s", what, message);
}

/* SQLite's own handler waits a millisecond and more; our transactions take some
 * ten microseconds, so the first waits are short. */
static int wait_for_turn(void *context, int waits) {
  struct db *db = context;
  if (clock_monotonic_ns() >= db->deadline)
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
  db_set_deadline(db, clock_monotonic_ns() + DB_PATIENCE);
  int code = sqlite3_open_v2(path, &db->handle,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             NULL);
  if (code != SQLITE_OK) {
    db_fail(db, code, path, err);
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

void db_set_deadline(struct db *db, int64_t deadline_ns) {
  db->deadline = deadline_ns;
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

void db_done(struct db **db) { db_close(*db); }

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
    return db_fail(db, code, "write-ahead log", err);
  sqlite3_stmt *mode = NULL;
  sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode", -1, &mode, NULL);
  bool is_wal = mode != NULL && sqlite3_step(mode) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(mode, 0), "wal") == 0;
  sqlite3_finalize(mode);
  if (!is_wal)
    return err_set(err, ERR_UNAVAILABLE,
                   "database: the file system cannot hold a write-ahead log; "
                   "choose another state_directory");
  return 0;
}

int db_execute(struct db *db, const char *sql, struct err *err) {
  int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? 0 : db_fail(db, code, "script", err);
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
    status = db_fail(db, code, sql, err);
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
                 : db_fail(db, code, sql, err);
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
  int status = code == SQLITE_DONE ? 0 : db_fail(db, code, "copying", err);
  sqlite3_finalize(handle);
  return status;
}

int db_begin(struct db *db, struct err *err) {
  return statement_step(db_statement(db, "begin"), err);
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
    return db_fail(db, code, "checkpoint", err);
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

int db_check_header(struct db *db, struct err *err) {
  static const char magic[16] = "SQLite format 3";
  sqlite3_file *file = NULL;
  sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  char found[sizeof magic] = "";
  int code = file == NULL || file->pMethods == NULL
                 ? SQLITE_CANTOPEN
                 : file->pMethods->xRead(file, found, sizeof found, 0);
  if (code == SQLITE_OK && memcmp(found, magic, sizeof magic) != 0)
    code = SQLITE_NOTADB;
  return code == SQLITE_OK ? 0 : db_fail(db, code, sqlite3_errstr(code), err);
}

int db_wal_pages(const struct db *db) { return db->wal_pages; }
