#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/verify.h"

static const struct field artifact_fields[] = {
    FIELD(struct verify_artifact, id, FIELD_INTEGER),
    FIELD(struct verify_artifact, task, FIELD_TEXT),
    FIELD(struct verify_artifact, name, FIELD_TEXT),
    FIELD(struct verify_artifact, sha256, FIELD_TEXT),
    FIELD(struct verify_artifact, bytes, FIELD_INTEGER),
    FIELD(struct verify_artifact, needed, FIELD_BOOLEAN),
};
static const struct shape artifact_shape = {
    artifact_fields, COUNT_OF(artifact_fields), sizeof(struct verify_artifact)};

int verify_list_artifacts(struct store *store, int64_t after, int limit,
                          struct verify_artifact **ret, size_t *count,
                          struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "verify_artifacts");
  statement_bind_integer(statement, "after", after);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, &artifact_shape, (void **)ret, count, err);
}

void verify_artifacts_free(struct verify_artifact *list, size_t count) {
  record_list_free(&artifact_shape, list, count);
}

int verify_artifact_is_there(struct store *store, int64_t id, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement =
      db_statement(read.db, "verify_artifact_is_there");
  statement_bind_integer(statement, "id", id);
  return statement_step(statement, err);
}

int verify_run_was_removed(struct store *store, const char *run,
                           struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "verify_removed");
  statement_bind_text(statement, "run", run);
  return statement_step(statement, err);
}
