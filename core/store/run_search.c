#include "core/store/run_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"
#include "core/store/run_row.h"
#include "core/store/visible.h"

/* An id is made a little before its run is accepted, by a clock that may be set
 * back meanwhile. */
#define SLACK_US (INT64_C(60) * 1000000)

/* Rows that a search looks at: [from, before) of runs.sequence. */
struct range {
  int64_t from, before;
};

/* The start of any id of that time: 48 bits of milliseconds (RFC 9562, 5.7). */
static void id_of_time(int64_t wall_us, char id[ID_UUID_SIZE]) {
  uint64_t ms = wall_us < 0 ? 0 : (uint64_t)wall_us / 1000;
  snprintf(id, ID_UUID_SIZE, "%08" PRIx64 "-%04" PRIx64,
           (ms >> 16) & 0xffffffff, ms & 0xffff);
}

/* The sequence that `name` finds from an id, or `otherwise`. */
static int look_up(struct db *db, const char *name, const char *id,
                   int64_t otherwise, int64_t *ret, struct err *err) {
  struct statement *statement = db_statement(db, name);
  statement_bind_text(statement, "id", id);
  int row = statement_step(statement, err);
  if (row < 0)
    return -1;
  *ret = row == 0 ? otherwise : statement_integer(statement, 0, otherwise);
  db_reset(db);
  return row;
}

/* Times are found by the ids, which are sorted by time and have an index. */
static int find_times(struct db *db, const struct run_filter *filter,
                      struct range *range, struct err *err) {
  char id[ID_UUID_SIZE];
  if (filter->since != 0) {
    id_of_time(filter->since - SLACK_US, id);
    if (look_up(db, "run_first_since", id, INT64_MAX, &range->from, err) < 0)
      return -1;
  }
  if (filter->until == 0)
    return 0;
  int64_t last;
  id_of_time(filter->until + SLACK_US, id);
  if (look_up(db, "run_last_until", id, 0, &last, err) < 0)
    return -1;
  range->before = last + 1;
  return 0;
}

static int find_range(struct db *db, const struct run_filter *filter,
                      struct range *range, struct err *err) {
  *range = (struct range){.from = 0, .before = INT64_MAX};
  if (find_times(db, filter, range, err) < 0)
    return -1;
  if (filter->before == NULL)
    return 0;
  int64_t before;
  int row = look_up(db, "run_position", filter->before, 0, &before, err);
  if (row == 0)
    return err_set(err, ERR_NOT_FOUND, "no such run to list from");
  if (row > 0 && before < range->before)
    range->before = before;
  return row < 0 ? -1 : 0;
}

static void bind_range(struct statement *statement,
                       const struct run_filter *filter,
                       const struct range *range, struct buf *globs) {
  visible_bind(statement, filter->rights, globs);
  if (filter->task != NULL)
    statement_bind_text(statement, "task", filter->task);
  statement_bind_integer(statement, "from", range->from);
  statement_bind_integer(statement, "before", range->before);
  statement_bind_integer(statement, "since", filter->since);
  statement_bind_integer(statement, "until",
                         filter->until == 0 ? INT64_MAX : filter->until);
}

int run_search(struct store *store, const struct run_filter *filter,
               enum run_detail detail, int limit, struct run_record **ret,
               size_t *count, struct err *err) {
  CLEANUP(buf_free) struct buf globs = BUF_INIT(BUF_SMALL);
  CLEANUP(read_end) struct read read;
  struct range range;
  if (read_begin(store, &read, err) < 0 ||
      find_range(read.db, filter, &range, err) < 0)
    return -1;
  bool failed = filter->status != NULL && strcmp(filter->status, "failed") == 0;
  struct statement *statement = db_statement(
      read.db, filter->task == NULL ? "run_search" : "run_search_task");
  bind_range(statement, filter, &range, &globs);
  statement_bind_integer(statement, "failed", failed);
  statement_bind_text(statement, "status", failed ? NULL : filter->status);
  statement_bind_text(statement, "error", filter->error);
  statement_bind_text(statement, "text", filter->text);
  statement_bind_integer(statement, "limit", limit);
  return record_list(statement, run_shape_of(detail), (void **)ret, count, err);
}

#define HOUR_US (INT64_C(3600) * 1000000)

/* The hours found so far; `times` are the durations of the last one, which the
 * clock may have left for an earlier one and come back to: it is another entry
 * then. */
struct hours {
  struct run_hour *list;
  size_t count, capacity;
  int64_t *times;
  size_t time_count, time_capacity;
};

static int compare_times(const void *a, const void *b) {
  int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

/* By nearest rank; the times are sorted. */
static int64_t percentile(const struct hours *hours, size_t percent) {
  size_t rank = (hours->time_count * percent + 99) / 100;
  return rank == 0 ? -1 : hours->times[rank - 1];
}

static void close_hour(struct hours *hours) {
  if (hours->count == 0)
    return;
  struct run_hour *last = &hours->list[hours->count - 1];
  if (hours->time_count != 0)
    qsort(hours->times, hours->time_count, sizeof *hours->times, compare_times);
  last->median_us = percentile(hours, 50);
  last->p95_us = percentile(hours, 95);
  hours->time_count = 0;
}

static struct run_hour *open_hour(struct hours *hours, int64_t at) {
  if (hours->count != 0 && hours->list[hours->count - 1].at == at)
    return &hours->list[hours->count - 1];
  close_hour(hours);
  if (hours->count == hours->capacity) {
    hours->capacity = hours->capacity * 2 + 32;
    hours->list = mem_grow(hours->list, hours->capacity, sizeof *hours->list);
  }
  struct run_hour *opened = &hours->list[hours->count++];
  *opened = (struct run_hour){.at = at};
  return opened;
}

static void add_run(struct hours *hours, struct statement *statement) {
  int64_t queued_at = statement_integer(statement, 0, 0);
  int64_t ran = statement_integer(statement, 1, -1);
  struct run_hour *hour = open_hour(hours, queued_at - queued_at % HOUR_US);
  hour->runs++;
  hour->failed += statement_integer(statement, 2, 0);
  if (ran < 0)
    return;
  if (hours->time_count == hours->time_capacity) {
    hours->time_capacity = hours->time_capacity * 2 + 256;
    hours->times =
        mem_grow(hours->times, hours->time_capacity, sizeof *hours->times);
  }
  hours->times[hours->time_count++] = ran;
}

static void hours_free(struct hours *hours) {
  free(hours->list);
  free(hours->times);
}

int run_hours(struct store *store, const struct run_filter *filter,
              struct run_hour **ret, size_t *count, struct err *err) {
  CLEANUP(buf_free) struct buf globs = BUF_INIT(BUF_SMALL);
  CLEANUP(read_end) struct read read;
  CLEANUP(hours_free) struct hours hours = {0};
  struct range range;
  if (read_begin(store, &read, err) < 0 ||
      find_range(read.db, filter, &range, err) < 0)
    return -1;
  struct statement *statement = db_statement(
      read.db, filter->task == NULL ? "run_times" : "run_times_task");
  bind_range(statement, filter, &range, &globs);
  int row;
  while ((row = statement_step(statement, err)) > 0)
    add_run(&hours, statement);
  if (row < 0)
    return -1;
  close_hour(&hours);
  *count = hours.count;
  *ret = MEM_STEAL(hours.list);
  return 0;
}
