#include "core/store/event.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"

static const struct field event_fields[] = {
    FIELD(struct event_record, id, FIELD_INTEGER),
    FIELD(struct event_record, at, FIELD_INTEGER),
    FIELD(struct event_record, task, FIELD_TEXT),
    FIELD(struct event_record, run, FIELD_TEXT),
    FIELD(struct event_record, kind, FIELD_TEXT),
    FIELD(struct event_record, content, FIELD_JSON),
};
static const struct shape event_shape = {event_fields, COUNT_OF(event_fields),
                                         sizeof(struct event_record)};

void event_list_free(struct event_record *list, size_t count) {
  record_list_free(&event_shape, list, count);
}

int event_add(struct db *db, const struct event_record *events, size_t count,
              struct err *err) {
  for (size_t i = 0; i < count; i++) {
    struct statement *statement = db_statement(db, "event_append");
    record_bind(statement, &event_shape, &events[i]);
    if (events[i].at == 0)
      statement_bind_integer(statement, "at", clock_wall_us());
    if (statement_run(statement, err) < 0)
      return -1;
  }
  return 0;
}

int event_note(struct db *db, const char *statement, const char *id, int64_t at,
               struct err *err) {
  struct statement *event = db_statement(db, statement);
  statement_bind_integer(event, "at", at);
  statement_bind_text(event, "id", id);
  return statement_run(event, err) < 0 ? -1 : 0;
}

struct event_record *event_copy(const struct event_record *events,
                                size_t count) {
  struct event_record *copy = mem_array(count, sizeof *copy);
  for (size_t i = 0; i < count; i++)
    record_copy(&event_shape, &events[i], &copy[i]);
  return copy;
}

int event_append(struct store *store, const struct event_record *events,
                 size_t count, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0 ||
      event_add(write.db, events, count, err) < 0)
    return -1;
  return write_commit(&write, err);
}

static const struct field text_fields[] = {
    FIELD(struct event_text, id, FIELD_INTEGER),
    FIELD(struct event_text, at, FIELD_INTEGER),
    FIELD(struct event_text, task, FIELD_TEXT),
    FIELD(struct event_text, run, FIELD_TEXT),
    FIELD(struct event_text, kind, FIELD_TEXT),
    FIELD(struct event_text, content, FIELD_TEXT),
};
static const struct shape text_shape = {text_fields, COUNT_OF(text_fields),
                                        sizeof(struct event_text)};

void event_texts_free(struct event_text *list, size_t count) {
  record_list_free(&text_shape, list, count);
}

int event_list_texts(struct store *store, const char *task, int64_t after,
                     int64_t last, int limit, struct event_text **ret,
                     size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement =
      db_statement(read.db, task == NULL ? "event_list" : "event_list_task");
  if (task != NULL)
    statement_bind_text(statement, "task", task);
  statement_bind_integer(statement, "after", after);
  statement_bind_integer(statement, "last", last);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, &text_shape, (void **)ret, count, err);
}

int event_bounds(struct store *store, int64_t *oldest, int64_t *newest,
                 struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "event_bounds");
  if (statement_step(statement, err) < 0)
    return -1;
  *oldest = statement_integer(statement, 0, 0);
  *newest = statement_integer(statement, 1, 0);
  return 0;
}
