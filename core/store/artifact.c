#include "core/store/artifact.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/record.h"

static const struct field artifact_fields[] = {
    FIELD(struct artifact_record, name, FIELD_TEXT),
    FIELD(struct artifact_record, sha256, FIELD_TEXT),
    FIELD(struct artifact_record, mime, FIELD_TEXT),
    FIELD(struct artifact_record, bytes, FIELD_INTEGER),
    FIELD(struct artifact_record, width, FIELD_INTEGER_OR_ZERO),
    FIELD(struct artifact_record, height, FIELD_INTEGER_OR_ZERO),
    FIELD(struct artifact_record, output, FIELD_INTEGER),
};
static const struct shape artifact_shape = {
    artifact_fields, COUNT_OF(artifact_fields), sizeof(struct artifact_record)};

static int add_one(struct db *db, const char *task, int64_t run,
                   const struct artifact_record *artifact, struct err *err) {
  struct statement *statement = db_statement(db, "artifact_insert");
  statement_bind_text(statement, "task", task);
  record_bind(statement, &artifact_shape, artifact);
  statement_bind_integer(statement, "created_at", clock_wall_us());
  if (statement_run(statement, err) < 0)
    return -1;
  statement = db_statement(db, "run_artifact_insert");
  statement_bind_integer(statement, "run", run);
  record_bind(statement, &artifact_shape, artifact);
  statement_bind_text(statement, "task", task);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int artifact_add(struct db *db, const char *task, int64_t run,
                 const struct artifact_record *artifacts, size_t count,
                 struct err *err) {
  for (size_t i = 0; i < count; i++)
    if (add_one(db, task, run, &artifacts[i], err) < 0)
      return -1;
  return 0;
}

/* The shape says char *, the struct const char *: the copies are our own. */
struct artifact_record *artifact_copy(const struct artifact_record *artifacts,
                                      size_t count) {
  struct artifact_record *copy = mem_array(count, sizeof *copy);
  for (size_t i = 0; i < count; i++)
    record_copy(&artifact_shape, &artifacts[i], &copy[i]);
  return copy;
}

void artifact_copy_free(struct artifact_record *artifacts, size_t count) {
  record_list_free(&artifact_shape, artifacts, count);
}
