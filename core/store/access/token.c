#include "core/store/access/token.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/journal.h"

#define HOUR_US (INT64_C(3600) * 1000000)

#define TOKEN_FIELD(member_, kind_) FIELD(struct token_record, member_, kind_)
static const struct field token_fields[] = {
    TOKEN_FIELD(id, FIELD_INTEGER),
    TOKEN_FIELD(name, FIELD_TEXT),
    TOKEN_FIELD(tenant, FIELD_TEXT),
    TOKEN_FIELD(hash, FIELD_DIGEST),
    TOKEN_FIELD(hint, FIELD_TEXT),
    TOKEN_FIELD(scopes, FIELD_TEXT),
    TOKEN_FIELD(tasks, FIELD_TEXT),
    TOKEN_FIELD(limits, FIELD_JSON),
    TOKEN_FIELD(created_at, FIELD_INTEGER),
    TOKEN_FIELD(created_by, FIELD_TEXT),
    TOKEN_FIELD(expires_at, FIELD_INTEGER_OR_ZERO),
    TOKEN_FIELD(rotated_at, FIELD_INTEGER_OR_ZERO),
    TOKEN_FIELD(previous_hash, FIELD_DIGEST),
    TOKEN_FIELD(previous_expires_at, FIELD_INTEGER_OR_ZERO),
    TOKEN_FIELD(revoked_at, FIELD_INTEGER_OR_ZERO),
    TOKEN_FIELD(last_used_at, FIELD_INTEGER_OR_ZERO),
    TOKEN_FIELD(session_hash, FIELD_DIGEST),
};
static const struct shape token_shape = {token_fields, COUNT_OF(token_fields),
                                         sizeof(struct token_record)};

void token_record_free(struct token_record *record) {
  record_free(&token_shape, record);
}

void token_list_free(struct token_record *list, size_t count) {
  record_list_free(&token_shape, list, count);
}

/* One statement that must change a row (a new one has a tenant), and its line
 * in the journal. */
static int change(struct store *store, const char *name,
                  const struct token_record *record, const char *kind,
                  struct json *content, struct err *err) {
  CLEANUP(json_done) struct json *kept = content;
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, name);
  record_bind(statement, &token_shape, record);
  int changed = statement_run(statement, err);
  if (changed < 0)
    return -1;
  if (changed == 0)
    return record->tenant == NULL
               ? err_set(err, ERR_NOT_FOUND,
                         "there is no token \"%s\" that is not revoked",
                         record->name)
               : err_set(err, ERR_CONFLICT,
                         "there is, or was, a token \"%s\": the history knows "
                         "it by its name, take another one",
                         record->name);
  json_set_text(kept, "name", record->name);
  if (journal_add(write.db, kind, NULL, kept, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int token_add(struct store *store, const struct token_record *record,
              struct err *err) {
  struct json *content = json_object();
  json_set_text(content, "tenant", record->tenant);
  json_set_text(content, "hint", record->hint);
  json_set_text(content, "scopes", record->scopes);
  json_set_text(content, "tasks", record->tasks);
  json_set(content, "limits", json_copy(record->limits));
  return change(store, "token_insert", record, "token.added", content, err);
}

int token_rotate(struct store *store, const char *name, const char *hash,
                 const char *hint, int64_t grace_until, struct err *err) {
  int64_t now = clock_wall_us();
  struct token_record record = {.name = (char *)(uintptr_t)name,
                                .hint = (char *)(uintptr_t)hint,
                                .rotated_at = now,
                                .previous_expires_at =
                                    grace_until == 0 ? now : grace_until};
  memcpy(record.hash, hash, sizeof record.hash);
  struct json *content = json_object();
  json_set_text(content, "hint", hint);
  return change(store, "token_rotate", &record, "token.rotated", content, err);
}

int token_revoke(struct store *store, const char *name, struct err *err) {
  struct token_record record = {.name = (char *)(uintptr_t)name,
                                .revoked_at = clock_wall_us()};
  return change(store, "token_revoke", &record, "token.revoked", json_object(),
                err);
}

int token_note_use(struct store *store, const struct token_record *record,
                   struct err *err) {
  int64_t now = clock_wall_us(), hour = now - now % HOUR_US;
  if (record->last_used_at >= hour)
    return 0;
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "token_use");
  statement_bind_integer(statement, "id", record->id);
  statement_bind_integer(statement, "last_used_at", hour);
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int token_list(struct store *store, struct token_record **ret, size_t *count,
               struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return record_list(db_statement(read.db, "token_list"), &token_shape,
                     (void **)ret, count, err);
}

int token_exists(struct store *store, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "token_exists");
  if (statement_step(statement, err) < 0)
    return -1;
  return statement_integer(statement, 0, 0) != 0;
}

static int find(struct store *store, const char *name, const char *key,
                const char *value, struct token_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, name);
  statement_bind_text(statement, key, value);
  return record_one(statement, &token_shape, "token", ret, err);
}

int token_find(struct store *store, const char *hash, struct token_record *ret,
               struct err *err) {
  return find(store, "token_by_hash", "hash", hash, ret, err);
}

int token_find_name(struct store *store, const char *name,
                    struct token_record *ret, struct err *err) {
  return find(store, "token_by_name", "name", name, ret, err);
}

bool token_is_good(const struct token_record *record, const char *hash,
                   int64_t now, const char **why) {
  bool previous = hash != NULL && strcmp(hash, record->hash) != 0;
  *why = record->revoked_at != 0 ? "it is revoked"
         : record->expires_at != 0 && record->expires_at <= now
             ? "it has expired"
         : previous && (strcmp(hash, record->previous_hash) != 0 ||
                        record->previous_expires_at <= now)
             ? "another one took its place"
             : NULL;
  return *why == NULL;
}

int token_open_session(struct store *store, const char *hash,
                       const struct token_record *token, const char *token_hash,
                       const char *address, int64_t expires_at,
                       struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  int64_t now = clock_wall_us();
  struct statement *statement = db_statement(write.db, "session_expire");
  statement_bind_integer(statement, "now", now);
  if (statement_run(statement, err) < 0)
    return -1;
  statement = db_statement(write.db, "session_insert");
  statement_bind_text(statement, "hash", hash);
  statement_bind_integer(statement, "token", token->id);
  statement_bind_text(statement, "token_hash", token_hash);
  statement_bind_text(statement, "address", address);
  statement_bind_integer(statement, "created_at", now);
  statement_bind_integer(statement, "expires_at", expires_at);
  if (statement_run(statement, err) < 0 ||
      journal_add(write.db, "session.opened", NULL, NULL, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int token_close_session(struct store *store, const char *hash,
                        struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "session_delete");
  statement_bind_text(statement, "hash", hash);
  int changed = statement_run(statement, err);
  if (changed <= 0)
    return changed;
  if (journal_add(write.db, "session.closed", NULL, NULL, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int token_of_session(struct store *store, const char *hash,
                     struct token_record *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "token_of_session");
  statement_bind_text(statement, "hash", hash);
  statement_bind_integer(statement, "now", clock_wall_us());
  return record_one(statement, &token_shape, "session", ret, err);
}

/* Whether the maker of what `name` finds by `key` is of the tenant. 1; 0;
 * -1; NOBODY: it finds no task. */
#define NOBODY 2

static int is_own(struct store *store, const char *name, const char *key,
                  const char *value, const struct rights *rights,
                  struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, name);
  statement_bind_text(statement, key, value);
  int row = statement_step(statement, err);
  if (row <= 0)
    return row < 0 ? -1 : NOBODY;
  return rights_cover(rights, statement_text(statement, 0, NULL),
                      statement_text(statement, 1, NULL));
}

int token_may(struct store *store, const struct rights *rights,
              const char *task, struct err *err) {
  if (rights_cover_name(rights, task))
    return 1;
  if (!rights_have_own(rights))
    return 0;
  int own = is_own(store, "task_tenant", "task", task, rights, err);
  return own == NOBODY ? 0 : own;
}

int token_may_make(struct store *store, const struct rights *rights,
                   const char *task, struct err *err) {
  if (rights_cover_name(rights, task))
    return 1;
  if (!rights_have_own(rights))
    return 0;
  return is_own(store, "task_tenant", "task", task, rights, err);
}

int token_may_run(struct store *store, const struct rights *rights,
                  const char *run, struct err *err) {
  int own = is_own(store, "run_tenant", "run", run, rights, err);
  return own == NOBODY ? 0 : own;
}

int token_count_kernels(struct store *store, const char *tenant,
                        const struct json *but, int64_t *ret, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "tenant_kernels");
  statement_bind_text(statement, "tenant", tenant);
  statement_bind_json(statement, "but", but);
  if (statement_step(statement, err) < 0)
    return -1;
  *ret = statement_integer(statement, 0, 0);
  return 0;
}

int token_list_tasks(struct store *store, const char *tenant, struct json **ret,
                     struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "tenant_tasks");
  statement_bind_text(statement, "tenant", tenant);
  if (statement_step(statement, err) < 0)
    return -1;
  return statement_json(statement, 0, ret, err);
}
