#include "core/store/journal.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"

#define NOBODY "cellpost"
#define PAGE 500

struct journal_row {
  int64_t id, at;
  char *kind, *task, *caller;
  int64_t token;
  char *address, *request_id, *content;
  char hash[CRYPTO_SHA256_HEX];
};

static const struct field row_fields[] = {
    FIELD(struct journal_row, id, FIELD_INTEGER),
    FIELD(struct journal_row, at, FIELD_INTEGER),
    FIELD(struct journal_row, kind, FIELD_TEXT),
    FIELD(struct journal_row, task, FIELD_TEXT),
    FIELD(struct journal_row, caller, FIELD_TEXT),
    FIELD(struct journal_row, token, FIELD_INTEGER_OR_ZERO),
    FIELD(struct journal_row, address, FIELD_TEXT),
    FIELD(struct journal_row, request_id, FIELD_TEXT),
    FIELD(struct journal_row, content, FIELD_TEXT),
    FIELD(struct journal_row, hash, FIELD_DIGEST),
};
static const struct shape row_shape = {row_fields, COUNT_OF(row_fields),
                                       sizeof(struct journal_row)};

static _Thread_local const struct journal_origin *origin;

void journal_set_origin(const struct journal_origin *of) { origin = of; }

static int last_hash(struct db *db, char hash[CRYPTO_SHA256_HEX],
                     struct err *err) {
  struct statement *statement = db_statement(db, "journal_last_hash");
  int row = statement_step(statement, err);
  hash[0] = '\0';
  if (row > 0)
    memcpy(hash, statement_text(statement, 0, NULL), CRYPTO_SHA256_HEX);
  db_reset(db);
  return row < 0 ? -1 : 0;
}

/* SHA-256 of the hash before and the row as a JSON array. */
static void hash_row(const struct journal_row *row, const char *before,
                     char hash[CRYPTO_SHA256_HEX]) {
  CLEANUP(json_done) struct json *values = json_array();
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  const char *texts[] = {row->kind,    row->task,       row->caller,
                         row->address, row->request_id, row->content};
  json_push(values, json_integer(row->at));
  json_push(values, json_integer(row->token));
  for (size_t i = 0; i < COUNT_OF(texts); i++)
    json_push(values, json_string(texts[i]));
  buf_format(&text, "%s\n", before);
  json_write(values, &text);
  crypto_sha256(buf_string(&text), text.length, hash);
}

int journal_add(struct db *db, const char *kind, const char *task,
                const struct json *content, struct err *err) {
  static const struct journal_origin nobody = {.caller = NOBODY};
  const struct journal_origin *who = origin == NULL ? &nobody : origin;
  char before[CRYPTO_SHA256_HEX];
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL / 4);
  if (content == NULL || json_write(content, &text) < 0)
    buf_text(&text, "{}");
  struct journal_row row = {.at = clock_wall_us(),
                            .kind = (char *)(uintptr_t)kind,
                            .task = (char *)(uintptr_t)task,
                            .caller = (char *)(uintptr_t)who->caller,
                            .token = who->token,
                            .address = (char *)(uintptr_t)who->address,
                            .request_id = (char *)(uintptr_t)who->request_id,
                            .content = (char *)(uintptr_t)buf_string(&text)};
  if (last_hash(db, before, err) < 0)
    return -1;
  hash_row(&row, before, row.hash);
  struct statement *statement = db_statement(db, "journal_insert");
  record_bind(statement, &row_shape, &row);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int journal_append(struct store *store, const char *kind, const char *task,
                   const struct json *content, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0 ||
      journal_add(write.db, kind, task, content, err) < 0)
    return -1;
  return write_commit(&write, err);
}

static int differ(const struct journal_row *row, struct err *err) {
  err_set(err, ERR_CONFLICT,
          "row %lld of the journal (%.40s) does not match its hash: it, or a "
          "row before it, was changed or taken out",
          (long long)row->id, row->kind);
  return 1;
}

int journal_check(struct db *db, struct err *err) {
  char before[CRYPTO_SHA256_HEX] = "", hash[CRYPTO_SHA256_HEX];
  int64_t after = 0;
  size_t count;
  int result = 0;
  do {
    struct journal_row *list = NULL;
    struct statement *statement = db_statement(db, "journal_list");
    statement_bind_integer(statement, "after", after);
    statement_bind_integer(statement, "limit", PAGE);
    if (record_list(statement, &row_shape, (void **)&list, &count, err) < 0)
      return -1;
    for (size_t i = 0; i < count && result == 0; i++) {
      hash_row(&list[i], before, hash);
      if (strcmp(hash, list[i].hash) != 0)
        result = differ(&list[i], err);
      memcpy(before, list[i].hash, sizeof before);
      after = list[i].id;
    }
    record_list_free(&row_shape, list, count);
  } while (count == PAGE && result == 0);
  return result;
}
