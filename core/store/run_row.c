#include "core/store/run_row.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/mem.h"

static const char *const status_names[] = {
    [RUN_QUEUED] = "queued",
    [RUN_RUNNING] = "running",
    [RUN_OK] = "ok",
    [RUN_ERROR] = "error",
    [RUN_TIMEOUT] = "timeout",
    [RUN_INTERRUPTED] = "interrupted",
    [RUN_CANCELLED] = "cancelled",
    [RUN_OUTPUT_LIMIT] = "output_limit",
    [RUN_OOM] = "oom",
    [RUN_KERNEL_DIED] = "kernel_died",
    [RUN_LOST] = "lost",
    [RUN_NOT_RUN] = "not_run",
};

#define RUN_FIELD(member_, kind_) FIELD(struct run_record, member_, kind_)
#define RUN_CODE(most_)                                                        \
  {                                                                            \
    .column = "code", .kind = FIELD_BYTES,                                     \
    .offset = offsetof(struct run_record, code),                               \
    .length_offset = offsetof(struct run_record, code_length), .most = (most_) \
  }
/* What a short list shows, then what it does not. */
#define BRIEF_FIELDS(code_most_)                                               \
  RUN_FIELD(id, FIELD_TEXT), RUN_FIELD(task, FIELD_TEXT),                      \
      RUN_FIELD(number, FIELD_INTEGER), RUN_CODE(code_most_),                  \
      RUN_FIELD(code_sha256, FIELD_DIGEST), RUN_FIELD(section, FIELD_TEXT),    \
      RUN_FIELD(silent, FIELD_BOOLEAN), RUN_FIELD(caller, FIELD_TEXT),         \
      RUN_FIELD(address, FIELD_TEXT), RUN_FIELD(request_id, FIELD_TEXT),       \
      RUN_FIELD(idempotency_key, FIELD_TEXT),                                  \
      RUN_FIELD(body_sha256, FIELD_DIGEST), RUN_FIELD(instance, FIELD_TEXT),   \
      RUN_FIELD(timeout_ms, FIELD_INTEGER_OR_ZERO),                            \
      RUN_FIELD(queued_at, FIELD_INTEGER),                                     \
      {.column = "status",                                                     \
       .kind = FIELD_NAME,                                                     \
       .offset = offsetof(struct run_record, status),                          \
       .names = status_names,                                                  \
       .name_count = COUNT_OF(status_names)},                                  \
      RUN_FIELD(cancel_requested_at, FIELD_INTEGER_OR_ZERO),                   \
      RUN_FIELD(started_at, FIELD_INTEGER_OR_ZERO),                            \
      RUN_FIELD(kernel, FIELD_TEXT),                                           \
      RUN_FIELD(generation, FIELD_INTEGER_OR_ZERO),                            \
      RUN_FIELD(kernel_state, FIELD_TEXT),                                     \
      RUN_FIELD(kernel_reason, FIELD_TEXT), RUN_FIELD(cell, FIELD_TEXT),       \
      RUN_FIELD(ended_at, FIELD_INTEGER_OR_ZERO),                              \
      RUN_FIELD(execution_count, FIELD_INTEGER_OR_NONE),                       \
      RUN_FIELD(error, FIELD_JSON), RUN_FIELD(ended_by, FIELD_TEXT),           \
      RUN_FIELD(cpu_ms, FIELD_INTEGER_OR_NONE),                                \
      RUN_FIELD(memory_peak_bytes, FIELD_INTEGER_OR_NONE),                     \
      RUN_FIELD(output_bytes, FIELD_INTEGER_OR_NONE),                          \
      RUN_FIELD(late_outputs, FIELD_INTEGER)
#define OTHER_FIELDS                                                           \
  RUN_FIELD(tags, FIELD_JSON), RUN_FIELD(options, FIELD_JSON),                 \
      RUN_FIELD(text, FIELD_TEXT), RUN_FIELD(files, FIELD_JSON),               \
      RUN_FIELD(truncated, FIELD_JSON), RUN_FIELD(images, FIELD_JSON),         \
      RUN_FIELD(notes, FIELD_JSON), RUN_FIELD(late_told, FIELD_JSON)

static const struct field run_fields[] = {BRIEF_FIELDS(0), OTHER_FIELDS};
static const struct field shown_fields[] = {BRIEF_FIELDS(RUN_SHOWN_CODE),
                                            OTHER_FIELDS};
static const struct field brief_fields[] = {BRIEF_FIELDS(RUN_BRIEF_CODE)};
const struct shape run_shape = {run_fields, COUNT_OF(run_fields),
                                sizeof(struct run_record)};
static const struct shape shown_shape = {shown_fields, COUNT_OF(shown_fields),
                                         sizeof(struct run_record)};
static const struct shape brief_shape = {brief_fields, COUNT_OF(brief_fields),
                                         sizeof(struct run_record)};

const struct shape *run_shape_of(enum run_detail detail) {
  return detail == RUN_WHOLE   ? &run_shape
         : detail == RUN_SHOWN ? &shown_shape
                               : &brief_shape;
}

const char *run_status_name(enum run_status status) {
  return (unsigned)status < COUNT_OF(status_names) ? status_names[status]
                                                   : "lost";
}

enum run_status run_status_parse(const char *name) {
  for (size_t i = 0; i < COUNT_OF(status_names); i++)
    if (strcmp(name, status_names[i]) == 0)
      return (enum run_status)i;
  return RUN_LOST;
}

void run_record_free(struct run_record *record) {
  record_free(&run_shape, record);
}

void run_record_accept(struct run_record *record) {
  record->queued_at = clock_wall_us();
  record->queued_boot_ns = clock_boot_ns();
}

int64_t run_record_now(const struct run_record *record) {
  return record->queued_boot_ns == 0
             ? clock_wall_us()
             : record->queued_at +
                   (clock_boot_ns() - record->queued_boot_ns) / 1000;
}

void run_list_free(struct run_record *list, size_t count) {
  record_list_free(&run_shape, list, count);
}

void run_row_free(struct run_row *row) {
  free(row->task);
  free(row->kernel);
  *row = (struct run_row){0};
}

int run_row_step(struct db *db, struct statement *statement,
                 struct run_row *ret, struct err *err) {
  int row = statement_step(statement, err);
  if (row <= 0)
    return row;
  ret->sequence = statement_integer(statement, 0, 0);
  ret->task = mem_copy_text(statement_text(statement, 1, NULL));
  ret->kernel = mem_copy_text(statement_text(statement, 2, NULL));
  db_reset(db);
  return 1;
}

int run_explain(struct db *db, const char *id, struct err *err) {
  struct statement *statement = db_statement(db, "run_state");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row < 0)
    return -1;
  if (row == 0)
    return err_set(err, ERR_NOT_FOUND, "no such run");
  err_set(err, ERR_CONFLICT, "the run is %s already",
          statement_text(statement, 0, NULL));
  db_reset(db);
  return -1;
}

static int add_output(struct db *db, int64_t run, size_t position,
                      const struct json *output, bool late, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  if (json_write(output, &text) < 0)
    return err_set(err, ERR_TOO_LARGE, "output %zu is too long", position);
  char digest[CRYPTO_SHA256_HEX];
  crypto_sha256(text.data, text.length, digest);
  const char *kind = json_get_text(output, "output_type");
  struct statement *statement = db_statement(db, "output_insert");
  statement_bind_integer(statement, "run", run);
  statement_bind_integer(statement, "position", (int64_t)position);
  statement_bind_text(statement, "kind", kind == NULL ? "unknown" : kind);
  statement_bind_bytes(statement, "content", text.data, text.length);
  statement_bind_text(statement, "sha256", digest);
  statement_bind_integer(statement, "late", late);
  statement_bind_integer(statement, "added_at", clock_wall_us());
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int run_add_outputs(struct db *db, int64_t run, size_t position,
                    const struct json *outputs, bool late, struct err *err) {
  for (size_t i = 0; i < json_length(outputs); i++)
    if (add_output(db, run, position + i, json_at(outputs, i), late, err) < 0)
      return -1;
  return 0;
}

int run_add_displays(struct db *db, const struct run_row *row, size_t position,
                     const struct run_display *displays, size_t count,
                     struct err *err) {
  for (size_t i = 0; row->kernel != NULL && i < count; i++) {
    struct statement *statement = db_statement(db, "display_insert");
    statement_bind_text(statement, "kernel", row->kernel);
    statement_bind_text(statement, "display_id", displays[i].display_id);
    statement_bind_integer(statement, "run", row->sequence);
    statement_bind_integer(statement, "position",
                           (int64_t)(position + displays[i].position));
    if (statement_run(statement, err) < 0)
      return -1;
  }
  return 0;
}

/* The hash over the hash before (64 hex digits, or nothing), a line feed and
 * the run's content, so that no link can be changed without all that follow. */
int run_hash(struct db *db, int64_t run, char hash[CRYPTO_SHA256_HEX],
             struct err *err) {
  struct statement *statement = db_statement(db, "chain_content");
  statement_bind_integer(statement, "run", run);
  if (statement_step(statement, err) <= 0)
    return -1;
  CLEANUP(buf_free) struct buf covered = BUF_INIT(BUF_ANSWER);
  size_t length;
  const char *before = statement_text(statement, 1, &length);
  if (before != NULL)
    buf_append(&covered, before, length);
  buf_byte(&covered, '\n');
  const char *content = statement_text(statement, 0, &length);
  buf_append(&covered, content, length);
  db_reset(db);
  if (covered.overflowed)
    return err_set(err, ERR_TOO_LARGE, "the run is too long to be sealed");
  crypto_sha256(covered.data, covered.length, hash);
  return 0;
}

static int add_link(struct db *db, int64_t run, struct err *err) {
  char hash[CRYPTO_SHA256_HEX];
  if (run_hash(db, run, hash, err) < 0)
    return -1;
  struct statement *statement = db_statement(db, "chain_insert");
  statement_bind_text(statement, "hash", hash);
  statement_bind_integer(statement, "run", run);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int run_seal(struct db *db, const struct run_row *row, struct err *err) {
  struct statement *statement = db_statement(db, "run_event_finished");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_integer(statement, "run", row->sequence);
  if (statement_run(statement, err) < 0)
    return -1;
  return add_link(db, row->sequence, err);
}
