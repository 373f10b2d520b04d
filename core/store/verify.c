#include "core/store/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/store/database/db.h"
#include "core/store/database/migrate.h"
#include "core/store/database/record.h"
#include "core/store/journal.h"
#include "core/store/run_row.h"

/* Rows looked at in one read transaction. */
#define PAGE 200

/* Beside 0, 1 and -1: the last page was in order. */
#define END 2

/* A row of the chain, and where its run is (0: it is not there). */
struct link {
  int64_t end_number;
  char *run, *hash;
  int64_t removed_at, sequence;
};
static const struct field link_fields[] = {
    FIELD(struct link, end_number, FIELD_INTEGER),
    FIELD(struct link, run, FIELD_TEXT),
    FIELD(struct link, hash, FIELD_TEXT),
    FIELD(struct link, removed_at, FIELD_INTEGER_OR_ZERO),
    FIELD(struct link, sequence, FIELD_INTEGER_OR_ZERO),
};
static const struct shape link_shape = {link_fields, COUNT_OF(link_fields),
                                        sizeof(struct link)};

/* A discrepancy: 1, with *err telling it. */
static int differ(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int differ(struct err *err, const char *format, ...) {
  char text[sizeof err->text];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  err_set(err, ERR_CONFLICT, "%s", text);
  return 1;
}

static int check_digest(const char *bytes, size_t length, const char *expected,
                        const char *what, const char *run, struct err *err) {
  char found[CRYPTO_SHA256_HEX];
  crypto_sha256(bytes == NULL ? "" : bytes, length, found);
  if (strcmp(found, expected) == 0)
    return 0;
  return differ(err, "run %s: %s does not match its digest", run, what);
}

/* What SQLite says of the file: "ok", or its first complaint. */
static int check_structure(struct db *db, struct err *err) {
  CLEANUP(mem_free_pointer) char *said = NULL;
  if (db_text(db, "PRAGMA integrity_check(1)", &said, err) < 0)
    return -1;
  if (strcmp(said, "ok") != 0)
    return differ(err, "the database is damaged: %s", said);
  CLEANUP(mem_free_pointer) char *orphan = NULL;
  if (db_text(db, "SELECT \"table\" FROM pragma_foreign_key_check", &orphan,
              err) >= 0)
    return differ(err, "table %s refers to a row that is not there", orphan);
  if (err->kind != ERR_NOT_FOUND)
    return -1;
  err_clear(err);
  return 0;
}

static int check_outputs(struct db *db, int64_t sequence, const char *run,
                         struct err *err) {
  struct statement *outputs = db_statement(db, "verify_outputs");
  statement_bind_integer(outputs, "run", sequence);
  int row, result = 0;
  while (result == 0 && (row = statement_step(outputs, err)) != 0) {
    if (row < 0)
      return -1;
    size_t length;
    const char *content = statement_text(outputs, 1, &length);
    char what[40];
    snprintf(what, sizeof what, "output %lld",
             (long long)statement_integer(outputs, 0, 0));
    result = check_digest(content, length, statement_text(outputs, 2, NULL),
                          what, run, err);
  }
  return result;
}

/* The row that a link names: it is at its place, and its code is what it was.
 */
static int check_run(struct db *db, int64_t sequence, const char *task,
                     int64_t end_number, const char *run, struct err *err) {
  struct statement *row = db_statement(db, "verify_run");
  statement_bind_integer(row, "run", sequence);
  if (statement_step(row, err) <= 0)
    return -1;
  if (strcmp(statement_text(row, 0, NULL), task) != 0 ||
      statement_integer(row, 2, 0) != end_number)
    return differ(err, "run %s is at another place than in the chain", run);
  size_t length;
  const char *code = statement_text(row, 3, &length);
  int result = check_digest(code, length, statement_text(row, 4, NULL),
                            "its code", run, err);
  return result != 0 ? result : check_outputs(db, sequence, run, err);
}

static int check_hash(struct db *db, int64_t sequence, const char *expected,
                      const char *run, struct err *err) {
  char found[CRYPTO_SHA256_HEX];
  if (run_hash(db, sequence, found, err) < 0)
    return -1;
  if (strcmp(found, expected) == 0)
    return 0;
  return differ(err,
                "run %s does not match its hash in the chain: it was "
                "changed after its end",
                run);
}

static int check_link(struct db *db, const struct link *link, const char *task,
                      int64_t end_number, struct err *err) {
  if (link->end_number != end_number)
    return differ(err, "the chain of task %s lacks entry %lld", task,
                  (long long)end_number);
  if (link->removed_at != 0)
    return link->sequence == 0
               ? 0
               : differ(err,
                        "run %s is there, but the chain says that it was "
                        "removed",
                        link->run);
  if (link->sequence == 0)
    return differ(err, "run %s of task %s is in the chain, but it is not there",
                  link->run, task);
  int result = check_run(db, link->sequence, task, end_number, link->run, err);
  return result != 0
             ? result
             : check_hash(db, link->sequence, link->hash, link->run, err);
}

static int check_links(struct db *db, const struct link *links, size_t count,
                       const char *task, int64_t *end_number, struct err *err) {
  int result = 0;
  for (size_t i = 0; result == 0 && i < count; i++)
    result = check_link(db, &links[i], task, ++*end_number, err);
  return result == 0 && count < PAGE ? END : result;
}

/* A page of a task's chain behind *end_number, which moves on. */
static int check_page(struct db *db, const char *task, int64_t *end_number,
                      struct err *err) {
  struct statement *statement = db_statement(db, "verify_chain");
  statement_bind_text(statement, "task", task);
  statement_bind_integer(statement, "after", *end_number);
  statement_bind_integer(statement, "limit", PAGE);
  void *links;
  size_t count;
  if (record_list(statement, &link_shape, &links, &count, err) < 0)
    return -1;
  int result = check_links(db, links, count, task, end_number, err);
  record_list_free(&link_shape, links, count);
  return result;
}

/* The page is seen as of one moment. */
static int check_page_at_once(struct db *db, const char *task,
                              int64_t *end_number, struct err *err) {
  if (db_execute(db, "BEGIN", err) < 0)
    return -1;
  int result = check_page(db, task, end_number, err);
  db_rollback(db);
  return result;
}

static int check_chain(struct db *db, const char *task, struct err *err) {
  int64_t end_number = 0;
  int result;
  do
    result = check_page_at_once(db, task, &end_number, err);
  while (result == 0);
  return result == END ? 0 : result;
}

/* *task becomes the next one that has a chain; 0: there is none. */
static int next_task(struct db *db, char **task, struct err *err) {
  struct statement *statement = db_statement(db, "verify_next_task");
  statement_bind_text(statement, "after", *task);
  int row = statement_step(statement, err);
  const char *found = row > 0 ? statement_text(statement, 0, NULL) : NULL;
  char *next = mem_copy_text(found);
  db_reset(db);
  free(*task);
  *task = next;
  return row < 0 ? -1 : next != NULL;
}

static int check_chains(struct db *db, struct err *err) {
  CLEANUP(mem_free_pointer) char *task = mem_copy_text("");
  int result;
  while ((result = next_task(db, &task, err)) > 0)
    if ((result = check_chain(db, task, err)) != 0)
      return result;
  return result;
}

static int check_ended_page(struct db *db, int64_t *after, int64_t *runs,
                            struct err *err) {
  struct statement *statement = db_statement(db, "verify_ended");
  statement_bind_integer(statement, "after", *after);
  statement_bind_integer(statement, "limit", PAGE);
  int row, result = 0, count = 0;
  while (result == 0 && (row = statement_step(statement, err)) != 0) {
    if (row < 0)
      return -1;
    *after = statement_integer(statement, 0, 0);
    count++;
    if (statement_integer(statement, 3, 0) == 0)
      result = differ(err,
                      "run %s of task %s has ended, but it is not in the "
                      "chain",
                      statement_text(statement, 1, NULL),
                      statement_text(statement, 2, NULL));
  }
  db_reset(db);
  *runs += count;
  return result == 0 && count < PAGE ? END : result;
}

static int check_ended(struct db *db, int64_t *runs, struct err *err) {
  int64_t after = 0;
  int result;
  do
    result = check_ended_page(db, &after, runs, err);
  while (result == 0);
  return result == END ? 0 : result;
}

static int check_all(struct db *db, int64_t *runs, struct err *err) {
  int result = check_structure(db, err);
  if (result == 0)
    result = check_chains(db, err);
  if (result == 0)
    result = journal_check(db, err);
  return result == 0 ? check_ended(db, runs, err) : result;
}

int verify_database(const char *path, int64_t *runs, struct err *err) {
  if (access(path, F_OK) != 0)
    return err_set(err, ERR_NOT_FOUND, "there is no database %s", path);
  struct db *db;
  if (db_open(path, DB_READER, false, &db, err) < 0)
    return -1;
  struct err fault = {0};
  int64_t looked_at = 0;
  int result = migrate_is_present(db, &fault);
  if (result == 0)
    result = check_all(db, &looked_at, &fault);
  db_close(db);
  if (result != 0)
    err_set(err, fault.kind, "%s", fault.text);
  else
    *runs = looked_at;
  return result;
}
