#include "core/store/database/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/store/database/query.h"
#include "embedded.h"

#define MIGRATION_DIRECTORY "sql/migrations/"

/* "Cell": file(1) and we ourselves know the database by it. */
#define APPLICATION_ID INT64_C(0x43656c6c)

/* The number in "sql/migrations/0001_initial.sql", or 0. */
static int64_t migration_number(const struct embedded_file *file) {
  size_t length = strlen(MIGRATION_DIRECTORY);
  if (strncmp(file->path, MIGRATION_DIRECTORY, length) != 0)
    return 0;
  return strtol(file->path + length, NULL, 10);
}

/* The embedded files are sorted, so the last migration has the last number. */
static int64_t newest_version(void) {
  int64_t newest = 0;
  for (const struct embedded_file *file = embedded_files; file->path; file++)
    if (migration_number(file) > 0)
      newest = migration_number(file);
  return newest;
}

static int set_pragma(struct db *db, const char *name, int64_t value,
                      struct err *err) {
  CLEANUP(mem_free_pointer)
  char *sql = mem_format("PRAGMA %s = %lld", name, (long long)value);
  return db_execute(db, sql, err);
}

/* Runs the migrations after `version`, up to `last`. */
static int apply_range(struct db *db, int64_t version, int64_t last,
                       struct err *err) {
  for (const struct embedded_file *file = embedded_files; file->path; file++) {
    int64_t number = migration_number(file);
    if (number <= version || number > last)
      continue;
    if (db_execute(db, file->text, err) < 0)
      return err_wrap(err, "%s", file->path);
    if (set_pragma(db, "user_version", number, err) < 0)
      return -1;
  }
  return 0;
}

/* SQL without comments and white space: what is the same in both is the same
 * to SQLite. */
static void squeeze(const char *sql, struct buf *out) {
  for (; *sql != '\0'; sql++)
    if (sql[0] == '-' && sql[1] == '-')
      sql += strcspn(sql, "\n") - 1;
    else if (strchr(" \t\r\n", *sql) == NULL)
      buf_byte(out, *sql);
}

static bool same_sql(const char *a, const char *b) {
  CLEANUP(buf_free) struct buf first = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf second = BUF_INIT(BUF_SMALL);
  squeeze(a, &first);
  squeeze(b, &second);
  return strcmp(buf_string(&first), buf_string(&second)) == 0;
}

/* `ours` is at an object of our own schema: the database must have it, just
 * so. */
static int compare_object(struct db *db, struct statement *ours,
                          int64_t version, struct err *err) {
  struct statement *theirs = db_statement(db, "schema_object");
  statement_bind_text(theirs, "type", statement_text(ours, 0, NULL));
  statement_bind_text(theirs, "name", statement_text(ours, 1, NULL));
  int row = statement_step(theirs, err);
  if (row < 0)
    return -1;
  bool same = row > 0 && same_sql(statement_text(theirs, 0, NULL),
                                  statement_text(ours, 2, NULL));
  db_reset(db);
  if (same)
    return 0;
  return err_set(err, ERR_CONFLICT,
                 "the database has version %lld, but its %s %s is not this "
                 "program's: one from between two releases made it. Use that "
                 "one, or choose another state_directory",
                 (long long)version, statement_text(ours, 0, NULL),
                 statement_text(ours, 1, NULL));
}

/* The number alone does not tell the schema: compares every table, index and
 * trigger with those that the migrations make. What others have added is none
 * of our business. */
static int check_schema(struct db *db, int64_t version, struct err *err) {
  CLEANUP(db_done) struct db *model = NULL;
  if (db_open(":memory:", DB_WRITER, false, &model, err) < 0 ||
      apply_range(model, 0, version, err) < 0)
    return -1;
  struct statement *ours = db_statement(model, "schema_objects");
  int row;
  while ((row = statement_step(ours, err)) > 0)
    if (compare_object(db, ours, version, err) < 0)
      return -1;
  return row;
}

int migrate_check(struct db *db, struct err *err) {
  int64_t version, application, tables;
  if (db_integer(db, "PRAGMA user_version", &version, err) < 0 ||
      db_integer(db, "PRAGMA application_id", &application, err) < 0 ||
      db_integer(db, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
    return -1;
  if (tables > 0 && application != APPLICATION_ID)
    return err_set(err, ERR_CONFLICT,
                   "the database was not made by Cellpost; choose another "
                   "state_directory");
  if (version > newest_version())
    return err_set(err, ERR_CONFLICT,
                   "the database has version %lld, this program knows versions "
                   "up to %lld: use the newer program, or a copy from before",
                   (long long)version, (long long)newest_version());
  return check_schema(db, version, err);
}

int migrate_is_present(struct db *db, struct err *err) {
  int64_t version;
  if (migrate_check(db, err) < 0 ||
      db_integer(db, "PRAGMA user_version", &version, err) < 0)
    return -1;
  if (version != newest_version())
    return err_set(err, ERR_CONFLICT,
                   "the database has version %lld, this program version %lld: "
                   "start the service once to bring it up to date",
                   (long long)version, (long long)newest_version());
  return 0;
}

static int apply_migrations(struct db *db, struct err *err) {
  int64_t version;
  if (migrate_check(db, err) < 0 ||
      db_integer(db, "PRAGMA user_version", &version, err) < 0)
    return -1;
  if (version == newest_version())
    return 0;
  if (apply_range(db, version, newest_version(), err) < 0)
    return -1;
  return set_pragma(db, "application_id", APPLICATION_ID, err);
}

/* DROP VIEW for each view that there is, one text a row. */
static int drop_views(struct db *db, struct err *err) {
  CLEANUP(buf_free) struct buf script = BUF_INIT(BUF_SMALL);
  struct statement *statement = db_statement(db, "schema_views");
  int row;
  while ((row = statement_step(statement, err)) > 0)
    buf_format(&script, "DROP VIEW \"%s\";",
               statement_text(statement, 0, NULL));
  return row < 0 ? -1 : db_execute(db, buf_string(&script), err);
}

/* 1: the views in the database were made from `digest`. */
static int views_are(struct db *db, const char *digest, struct err *err) {
  struct statement *statement = db_statement(db, "meta_get");
  statement_bind_text(statement, "name", "views_sha256");
  int row = statement_step(statement, err);
  if (row <= 0)
    return row;
  int same = strcmp(statement_text(statement, 0, NULL), digest) == 0;
  db_reset(db);
  return same;
}

static void digest_views(char digest[CRYPTO_SHA256_HEX]) {
  const char *text = query_file("sql/views.sql");
  crypto_sha256(text, strlen(text), digest);
}

static int apply_views(struct db *db, struct err *err) {
  const char *text = query_file("sql/views.sql");
  char digest[CRYPTO_SHA256_HEX];
  digest_views(digest);
  int same = views_are(db, digest, err);
  if (same != 0)
    return same < 0 ? -1 : 0;
  if (drop_views(db, err) < 0 || db_execute(db, text, err) < 0)
    return err_wrap(err, "sql/views.sql");
  struct statement *statement = db_statement(db, "meta_set");
  statement_bind_text(statement, "name", "views_sha256");
  statement_bind_text(statement, "value", digest);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

/* 1: nothing is to be done, found out by reading alone, so that opening waits
 * for no writer. */
static int is_up_to_date(struct db *db, struct err *err) {
  int64_t version;
  if (db_integer(db, "PRAGMA user_version", &version, err) < 0)
    return -1;
  if (version != newest_version())
    return 0;
  char digest[CRYPTO_SHA256_HEX];
  digest_views(digest);
  return views_are(db, digest, err);
}

int migrate_run(struct db *db, struct err *err) {
  int done = is_up_to_date(db, err);
  if (done != 0)
    return done < 0 ? -1 : 0;
  if (db_begin(db, err) < 0)
    return -1;
  if (apply_migrations(db, err) < 0 || apply_views(db, err) < 0) {
    db_rollback(db);
    return -1;
  }
  return db_commit(db, err);
}
