#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/run.h"
#include "core/store/run_row.h"

/* The finished run, and where its next output goes. */
struct late_place {
  struct run_row row;
  int64_t position;
};

static void late_place_free(struct late_place *place) {
  run_row_free(&place->row);
}

static int find_place(struct db *db, const char *id, struct late_place *ret,
                      struct err *err) {
  struct statement *statement = db_statement(db, "output_next_position");
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row < 0)
    return -1;
  if (row == 0)
    return err_set(err, ERR_NOT_FOUND, "no such run");
  bool ended = statement_integer(statement, 1, 0) != 0;
  *ret = (struct late_place){
      .row = {.sequence = statement_integer(statement, 0, 0),
              .kernel = mem_copy_text(statement_text(statement, 3, NULL))},
      .position = statement_integer(statement, 2, 0)};
  db_reset(db);
  return ended ? 0
               : err_set(err, ERR_CONFLICT,
                         "the run has not ended: nothing is late");
}

static int add_unwritten(struct db *db, const char *id, struct err *err) {
  struct statement *statement = db_statement(db, "unwritten_add");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_text(statement, "id", id);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

static int count_late(struct db *db, const struct late_place *place,
                      const struct json *outputs, struct err *err) {
  struct statement *statement = db_statement(db, "run_count_late");
  statement_bind_integer(statement, "count", (int64_t)json_length(outputs));
  statement_bind_integer(statement, "run", place->row.sequence);
  if (statement_run(statement, err) < 0)
    return -1;
  statement = db_statement(db, "run_event_late");
  statement_bind_integer(statement, "at", clock_wall_us());
  statement_bind_integer(statement, "position", place->position);
  statement_bind_json(statement, "outputs", outputs);
  statement_bind_integer(statement, "run", place->row.sequence);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int run_add_late(struct store *store, const char *id,
                 const struct json *outputs, const struct run_display *displays,
                 size_t display_count, struct err *err) {
  CLEANUP(write_end) struct write write;
  CLEANUP(late_place_free) struct late_place place = {0};
  if (write_begin(store, &write, err) < 0 ||
      find_place(write.db, id, &place, err) < 0 ||
      run_add_outputs(write.db, place.row.sequence, (size_t)place.position,
                      outputs, true, err) < 0 ||
      run_add_displays(write.db, &place.row, (size_t)place.position, displays,
                       display_count, err) < 0 ||
      count_late(write.db, &place, outputs, err) < 0 ||
      add_unwritten(write.db, id, err) < 0)
    return -1;
  return write_commit(&write, err);
}

static const struct field place_fields[] = {
    FIELD(struct run_display_place, run, FIELD_TEXT),
    FIELD(struct run_display_place, position, FIELD_INTEGER),
    FIELD(struct run_display_place, cell_position, FIELD_INTEGER),
};
_Static_assert(sizeof(size_t) == sizeof(int64_t), "position is an integer");
static const struct shape place_shape = {place_fields, COUNT_OF(place_fields),
                                         sizeof(struct run_display_place)};

int run_find_display(struct store *store, const char *task, const char *kernel,
                     const char *display_id, struct run_display_place **ret,
                     size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "display_find");
  statement_bind_text(statement, "kernel", kernel);
  statement_bind_text(statement, "display_id", display_id);
  statement_bind_text(statement, "task", task);
  return record_list(statement, &place_shape, (void **)ret, count, err);
}

void run_display_places_free(struct run_display_place *places, size_t count) {
  record_list_free(&place_shape, places, count);
}

/* 1 and *ret, 0: there is none. */
static int get_output(struct db *db, const struct run_output_change *change,
                      struct json **ret, struct err *err) {
  struct statement *statement = db_statement(db, "output_get");
  statement_bind_text(statement, "id", change->run);
  statement_bind_integer(statement, "position", (int64_t)change->position);
  int row = statement_step(statement, err);
  if (row > 0 && statement_json(statement, 0, ret, err) < 0)
    row = -1;
  db_reset(db);
  return row;
}

static int revise_output(struct db *db, const struct run_output_change *change,
                         struct err *err) {
  CLEANUP(json_done) struct json *output = NULL;
  int there = get_output(db, change, &output, err);
  if (there <= 0)
    return there;
  json_set(output, "data", json_share(change->data));
  json_set(output, "metadata",
           change->metadata == NULL ? json_object()
                                    : json_share(change->metadata));
  struct statement *statement = db_statement(db, "output_revise");
  statement_bind_json(statement, "content", output);
  statement_bind_integer(statement, "revised_at", clock_wall_us());
  statement_bind_text(statement, "id", change->run);
  statement_bind_integer(statement, "position", (int64_t)change->position);
  return statement_run(statement, err) < 0 ? -1 : 0;
}

int run_update_outputs(struct store *store,
                       const struct run_output_change *changes, size_t count,
                       struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++) {
    const char *run = changes[i].run;
    bool first = i == 0 || strcmp(changes[i - 1].run, run) != 0;
    if (revise_output(write.db, &changes[i], err) < 0 ||
        (first && add_unwritten(write.db, run, err) < 0))
      return -1;
  }
  return write_commit(&write, err);
}

int run_note_written(struct store *store, const char *id, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "unwritten_remove");
  statement_bind_text(statement, "id", id);
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int run_is_unwritten(struct store *store, const char *id, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "unwritten_has");
  statement_bind_text(statement, "id", id);
  return statement_step(statement, err);
}

int run_list_unwritten(struct store *store, struct run_record **ret,
                       size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return record_list(db_statement(read.db, "unwritten_list"), &run_shape,
                     (void **)ret, count, err);
}
