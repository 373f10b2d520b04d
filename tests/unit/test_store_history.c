/* The history as an auditor meets it: a plain sqlite3 shell on the file. */
#include "store_fixture.h"

#include "core/store/database/pool.h"
#include "core/store/database/query.h"
#include "core/store/replay.h"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &value, NULL), 0);
  return value;
}

/* A run that draws, fails, shows a display, and speaks up late. */
static void add_rich_run(struct fixture *fixture, char id[ID_UUID_SIZE]) {
  struct err *err = &fixture->err;
  char existing[37];
  struct run_record run = a_run("demo", "plot(); 1/0", id);
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  OK(fixture, run_start(fixture->store, &run, err));
  CLEANUP(json_done)
  struct json *error = parse(
      "{\"ename\":\"ZeroDivisionError\",\"evalue\":\"by zero\",\"line\":1}");
  CLEANUP(json_done) struct json *files = parse("[{\"path\":\"a.csv\"}]");
  CLEANUP(json_done)
  struct json *outputs =
      parse("[{\"output_type\":\"display_data\",\"data\":{\"image/png\":"
            "{\"artifact\":\"a.png\"}},\"metadata\":{}}]");
  run.status = RUN_ERROR;
  run.error = error;
  run.files = files;
  struct artifact_record artifact = {.sha256 = run.code_sha256,
                                     .mime = "image/png",
                                     .name = "a.png",
                                     .bytes = 1234,
                                     .width = 640,
                                     .height = 480};
  struct run_display display = {"d", 0};
  struct run_ending ending = {.record = &run,
                              .outputs = outputs,
                              .artifacts = &artifact,
                              .artifact_count = 1,
                              .displays = &display,
                              .display_count = 1};
  OK(fixture, run_finish(fixture->store, &ending, err));
  OK(fixture, run_add_late(fixture->store, id, outputs, NULL, 0, err));
}

static void add_replay(struct fixture *fixture, char id[ID_UUID_SIZE]) {
  CLEANUP(json_done)
  struct json *differences =
      parse("[{\"number\":1,\"what\":\"different\",\"before\":\"1\","
            "\"after\":\"2\"}]");
  struct replay_record replay = {.id = id,
                                 .task = (char *)"demo",
                                 .asked_at = 1,
                                 .asked_by = (char *)"anna",
                                 .instance = (char *)INSTANCE,
                                 .kernel = (char *)KERNEL_B,
                                 .started_at = 2,
                                 .ended_at = 3,
                                 .status = REPLAY_COMPLETE,
                                 .cells = 1,
                                 .different = 1,
                                 .differences = differences};
  id_new(id);
  OK(fixture, replay_insert(fixture->store, &replay, &fixture->err));
  OK(fixture, replay_start(fixture->store, &replay, &fixture->err));
  OK(fixture, replay_finish(fixture->store, &replay, &fixture->err));
}

/* Something for every documented query to find. */
static int filled(void **state) {
  fixture_open(state);
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE];
  add_rich_run(fixture, id);
  struct run_record run = a_run("demo", "print(1)", id);
  carry_out(fixture, &run, RUN_OK);
  run = a_run("demo", "print(1)", id);
  carry_out(fixture, &run, RUN_KERNEL_DIED);
  OK(fixture, kernel_set_end(fixture->store, KERNEL_A, KERNEL_END_SIGNAL, -1,
                             11, "it crashed", 99, clock_wall_us(), err));
  struct kernel_record kernel = {.id = (char *)KERNEL_B,
                                 .task = (char *)"demo",
                                 .kernelspec = (char *)"python3"};
  OK(fixture, kernel_insert(fixture->store, &kernel, err));
  run = a_run("demo", "x", id);
  run.kernel = (char *)KERNEL_B;
  run.generation = 2;
  run.kernel_state = (char *)"lost";
  run.kernel_reason = (char *)"it crashed";
  carry_out(fixture, &run, RUN_OK);
  add_replay(fixture, id);
  return 0;
}

static void the_audit_speaks_in_words(void **state) {
  struct fixture *fixture = *state;
  fixture_expect(fixture,
                 "select group_concat(number || ' ' || outcome) from"
                 " (select * from audit)",
                 "4 ran to its end,3 ended with its kernel: it crashed,"
                 "2 ran to its end,1 raised ZeroDivisionError");
  fixture_expect(fixture,
                 "select task, caller, address, code, error, error_line,"
                 " outputs, late_outputs, artifacts, files, cell, kernelspec,"
                 " kernel_generation, timeout_s from audit where number = 1",
                 "demo|anna|127.0.0.1|plot(); 1/0|ZeroDivisionError: by zero|1|"
                 "2|1|1|1|cell-1|python3|1|2.0");
  fixture_expect(fixture, "select kernel_state from audit limit 1",
                 "variables lost: it crashed");
  /* Times are ISO, in order, and agree with the durations. */
  fixture_expect(fixture,
                 "select count(*) from audit where accepted glob"
                 " '20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
                 "[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'"
                 " and accepted <= started and started <= ended"
                 " and waited_ms >= 0 and ran_ms >= 0 and hash is not null",
                 "4");
}

static void the_other_views_count_right(void **state) {
  struct fixture *fixture = *state;
  fixture_expect(fixture,
                 "select status, error, runs from failures_by_error"
                 " order by status",
                 "error|ZeroDivisionError|1\nkernel_died||1");
  fixture_expect(fixture,
                 "select task, generation, death, signal, reason, runs,"
                 " last_code from kernel_deaths",
                 "demo|1|killed by a signal|11|it crashed|3|print(1)");
  fixture_expect(fixture,
                 "select task, runs, ok, failed, artifact_bytes,"
                 " kernels from usage_by_task",
                 "demo|4|2|2|1234|2");
  fixture_expect(fixture,
                 "select runs, ok, failed, tasks, callers"
                 " from usage_by_day",
                 "4|2|2|1|1");
  fixture_expect(fixture,
                 "select mime, artifacts, bytes, uses"
                 " from artifacts_by_type",
                 "image/png|1|1234|1");
  fixture_expect(fixture,
                 "select count(*), max(ran_s) >= min(ran_s)"
                 " from slowest_runs",
                 "4|1");
}

/* Statements that must be refused, and by what words. */
static const struct {
  const char *sql, *words;
} forbidden[] = {
    {"update runs set code = 'x'", "asked to do cannot be changed"},
    {"update runs set caller = 'x' where number = 2", "cannot be changed"},
    {"update runs set status = 'ok'", "a finished run cannot be changed"},
    {"update runs set error = null", "a finished run cannot be changed"},
    {"update runs set ended_at = null, status = 'running', end_number = null",
     "a finished run cannot be changed"},
    {"update runs set late_outputs = 0", "cannot be taken back"},
    {"delete from runs where number = 1", "by retention only"},
    {"insert or replace into runs select * from runs where number = 1",
     "by retention only"},
    {"update outputs set sha256 = hex(randomblob(32))", "not replaced"},
    {"update outputs set content = '{}', first_content = content",
     "tells when"},
    {"update outputs set content = '{}', revised_at = 1", "what it was first"},
    {"delete from outputs", "with its run only"},
    {"update kernels set reason = 'x'", "ended kernel life"},
    {"update kernels set task = 'x'", "cannot"},
    {"delete from kernels", "cannot be removed"},
    {"update events set content = '{}'", "cannot be changed"},
    {"delete from events", "newest event cannot be removed"},
    {"update chain set hash = hex(randomblob(32))", "cannot be changed"},
    {"delete from chain", "cannot be cut"},
    {"update replays set same = 1", "ended replay"},
    {"delete from replays", "cannot be removed"},
    {"insert into runs select * from runs", "UNIQUE"},
};

static void what_is_written_stays(void **state) {
  struct fixture *fixture = *state;
  for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
    CLEANUP(mem_free_pointer)
    char *sql = mem_format("pragma foreign_keys = on;"
                           "pragma recursive_triggers = on; %s;",
                           forbidden[i].sql);
    int status = fixture_shell(fixture, sql, &out);
    if (status == 0 || strstr(buf_string(&out), forbidden[i].words) == NULL)
      fail_msg("%s: %d, %s", forbidden[i].sql, status, buf_string(&out));
  }
  fixture_expect(fixture, "select count(*), sum(late_outputs) from runs",
                 "4|1");
}

static void retention_leaves_a_mark(void **state) {
  struct fixture *fixture = *state;
  fixture_expect(fixture,
                 "pragma foreign_keys = on;"
                 "update chain set removed_at = 1, removed_why = 'age'"
                 " where end_number = 1;"
                 "delete from runs where end_number = 1;"
                 "select (select count(*) from runs),"
                 " (select count(*) from outputs),"
                 " (select count(*) from displays),"
                 " (select count(*) from run_artifacts),"
                 " (select removed_why from chain where end_number = 1)",
                 "3|3|0|0|age");
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  assert_int_not_equal(
      fixture_shell(fixture,
                    "update chain set removed_at = 2, removed_why = 'age';"
                    "delete from runs where number = 4;",
                    &out),
      0);
  assert_non_null(strstr(buf_string(&out), "cannot be taken back"));
  buf_reset(&out);
  assert_int_not_equal(
      fixture_shell(fixture,
                    "update chain set removed_at = 2, removed_why = 'age'"
                    " where end_number = 4;"
                    "delete from runs where number = 4;",
                    &out),
      0);
  assert_non_null(strstr(buf_string(&out), "newest run"));
}

/* Checks the chain of "demo" as sql/README.md explains it; returns the number
 * of the first run that does not fit, or 0. */
static int first_misfit(struct fixture *fixture) {
  CLEANUP(buf_free) struct buf rows = BUF_INIT(BUF_SMALL);
  int misfit = 0;
  char hash[CRYPTO_SHA256_HEX] = "";
  assert_int_equal(
      fixture_shell(fixture,
                    "select runs.sequence || ' ' || hash from chain"
                    " join runs on runs.id = chain.run"
                    " order by chain.end_number",
                    &rows),
      0);
  CLEANUP(read_end) struct read read;
  OK(fixture, read_begin(fixture->store, &read, &fixture->err));
  int number = 1;
  for (char *line = strtok(rows.data, "\n"); line != NULL && misfit == 0;
       line = strtok(NULL, "\n"), number++) {
    struct statement *statement = db_statement(read.db, "chain_content");
    statement_bind_integer(statement, "run", strtol(line, NULL, 10));
    assert_int_equal(statement_step(statement, &fixture->err), 1);
    CLEANUP(mem_free_pointer)
    char *covered =
        mem_format("%s\n%s", hash, statement_text(statement, 0, NULL));
    crypto_sha256(covered, strlen(covered), hash);
    if (strcmp(strchr(line, ' ') + 1, hash) != 0)
      misfit = number;
  }
  assert_true(misfit > 0 || number == 5);
  return misfit;
}

static void the_chain_betrays_a_change(void **state) {
  struct fixture *fixture = *state;
  assert_int_equal(first_misfit(fixture), 0);
  fixture_expect(fixture,
                 "drop trigger runs_end_once;"
                 "update runs set status = 'error' where number = 2;"
                 "select 1",
                 "1");
  assert_int_equal(first_misfit(fixture), 2);
}

static void read_manual(struct fixture *fixture, struct buf *text) {
  int directory = fs_open_directory("sql", &fixture->err);
  OK(fixture, directory);
  OK(fixture, fs_read_file(directory, "README.md", text, &fixture->err));
  close(directory);
}

static void every_documented_query_finds_something(void **state) {
  struct fixture *fixture = *state;
  CLEANUP(buf_free) struct buf manual = BUF_INIT(BUF_SMALL);
  read_manual(fixture, &manual);
  int queries = 0;
  const char *fence = "\n```sql\n";
  for (char *at = strstr(manual.data, fence); at != NULL;
       at = strstr(at, fence)) {
    at += strlen(fence);
    char *end = strstr(at, "```");
    assert_non_null(end);
    *end = '\0';
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
    if (fixture_shell(fixture, at, &out) != 0 || out.length == 0)
      fail_msg("%s\n%s", at, buf_string(&out));
    at = end + 1;
    queries++;
  }
  assert_true(queries >= 10);
}

static void every_column_is_documented(void **state) {
  struct fixture *fixture = *state;
  CLEANUP(buf_free) struct buf manual = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf columns = BUF_INIT(BUF_SMALL);
  read_manual(fixture, &manual);
  assert_int_equal(
      fixture_shell(fixture,
                    "select m.name || ' ' || p.name"
                    "  from sqlite_schema m join pragma_table_info(m.name) p"
                    " where m.type in ('table', 'view')"
                    "   and m.name not like 'sqlite_%'",
                    &columns),
      0);
  int documented = 0;
  for (char *line = strtok(columns.data, "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    char *column = strchr(line, ' ');
    *column++ = '\0';
    CLEANUP(mem_free_pointer) char *heading = mem_format("\n### `%s`\n", line);
    CLEANUP(mem_free_pointer) char *row = mem_format("\n| `%s` | ", column);
    const char *section = strstr(manual.data, heading);
    if (section == NULL)
      fail_msg("%s is not documented", line);
    const char *next = strstr(section + 1, "\n### ");
    const char *found = strstr(section, row);
    if (found == NULL || (next != NULL && found > next))
      fail_msg("%s.%s is not documented", line, column);
    documented++;
  }
  assert_true(documented > 150);
  /* And nothing is documented that is not there. */
  int rows = 0;
  const char *start = strstr(manual.data, "## Tables");
  const char *end = strstr(manual.data, "## Queries");
  for (const char *at = start; (at = strstr(at, "\n| `")) && at < end; at++)
    rows++;
  assert_int_equal(rows, documented);
}

/* Tables whose full scan would make a statement as slow as history is long. */
static const char *const growing[] = {"runs",     "outputs",      "events",
                                      "chain",    "artifacts",    "kernels",
                                      "displays", "run_artifacts"};

/* Whether the time of a step of a plan grows with the history. A walk from a
 * row down is as long as the limit of a list. */
static bool is_costly(const char *line) {
  if (strstr(line, "TEMP B-TREE FOR ORDER BY") != NULL ||
      strstr(line, "INTEGER PRIMARY KEY (rowid<?)") != NULL)
    return true;
  const char *scan = strstr(line, "SCAN ");
  if (scan == NULL)
    return false;
  size_t length = strcspn(scan + 5, " \n");
  for (size_t i = 0; i < COUNT_OF(growing); i++)
    if (strlen(growing[i]) == length &&
        strncmp(scan + 5, growing[i], length) == 0)
      return true;
  return false;
}

static void expect_cheap(struct fixture *fixture, const char *sql) {
  CLEANUP(buf_free) struct buf plan = BUF_INIT(BUF_SMALL);
  CLEANUP(mem_free_pointer)
  char *explain = mem_format("explain query plan %s", sql);
  if (fixture_shell(fixture, explain, &plan) != 0)
    fail_msg("%s\n%s", sql, buf_string(&plan));
  /* These indexes hold the few living or open rows only. */
  if (strstr(buf_string(&plan), "runs_open") != NULL ||
      strstr(buf_string(&plan), "kernels_alive") != NULL)
    return;
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(buf_string(&plan));
  for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
    if (is_costly(line))
      fail_msg("%s\n%s", sql, buf_string(&plan));
}

/* Lists of all tasks' runs walk from the newest one back. */
static bool walks_back(const struct query *query) {
  static const char *const names[] = {"run_list", "run_list_ok"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strlen(names[i]) == query->name_length &&
        strncmp(names[i], query->name, query->name_length) == 0)
      return true;
  return false;
}

/* What has no plan. */
static bool is_plain(const char *sql) {
  static const char *const verbs[] = {"BEGIN", "COMMIT", "ROLLBACK", "PRAGMA"};
  for (size_t i = 0; i < COUNT_OF(verbs); i++)
    if (strncmp(sql, verbs[i], strlen(verbs[i])) == 0)
      return true;
  return false;
}

static void no_statement_scans_the_history(void **state) {
  struct fixture *fixture = *state;
  size_t count;
  const struct query *queries = query_all(&count);
  assert_true(count > 40);
  for (size_t i = 0; i < count; i++) {
    CLEANUP(mem_free_pointer)
    char *sql = mem_copy_bytes(queries[i].text, queries[i].text_length);
    char *start = sql + strspn(sql, "\n");
    while (strncmp(start, "--", 2) == 0)
      start = strchr(start, '\n') + 1;
    if (!is_plain(start) && !walks_back(&queries[i]))
      expect_cheap(fixture, start);
  }
}

static void the_audit_finds_the_last_hundred_by_index(void **state) {
  struct fixture *fixture = *state;
  CLEANUP(buf_free) struct buf plan = BUF_INIT(BUF_SMALL);
  assert_int_equal(fixture_shell(fixture,
                                 "explain query plan select * from audit"
                                 " limit 100",
                                 &plan),
                   0);
  /* From the newest row back, until the limit; nothing is sorted. */
  assert_non_null(strstr(buf_string(&plan), "SCAN runs\n"));
  assert_null(strstr(buf_string(&plan), "TEMP B-TREE"));
  expect_cheap(fixture, "select * from audit where task = 'demo' limit 100");
  expect_cheap(fixture, "select * from audit where run = 'x'");
}

static void every_statement_is_used_and_named_once(void **state) {
  (void)state;
  size_t count;
  const struct query *queries = query_all(&count);
  for (size_t i = 1; i < count; i++)
    assert_false(queries[i].name_length == queries[i - 1].name_length &&
                 strncmp(queries[i].name, queries[i - 1].name,
                         queries[i].name_length) == 0);
  for (size_t i = 0; i < count; i++) {
    CLEANUP(mem_free_pointer)
    char *command = mem_format("grep -rq '\"%.*s\"' core/store",
                               (int)queries[i].name_length, queries[i].name);
    if (system(command) != 0)
      fail_msg("nobody uses %.*s", (int)queries[i].name_length,
               queries[i].name);
  }
  assert_int_equal(query_find("no_such_name"), -1);
  assert_true(query_find("run_get") >= 0);
}

/* A clock that is set back by an hour between two events. */
static void no_duration_is_negative(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  const int64_t hour = INT64_C(3600) * 1000000;
  int64_t later = clock_wall_us() + hour;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id);
  run.queued_at = later;
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  run.started_at = later - hour;
  run.ended_at = later - hour + 5;
  run.status = RUN_OK;
  OK(fixture, run_start(fixture->store, &run, err));
  struct run_ending ending = {.record = &run};
  OK(fixture, run_finish(fixture->store, &ending, err));
  struct kernel_record kernel = {
      .id = (char *)"0190a000-0000-7000-8000-0000000000cc",
      .task = (char *)"demo",
      .kernelspec = (char *)"python3",
      .pid = 1,
      .started_at = later};
  OK(fixture, kernel_insert(fixture->store, &kernel, err));
  OK(fixture, kernel_set_end(fixture->store, kernel.id, KERNEL_END_EXIT, 0, 0,
                             NULL, 0, later - hour, err));
  CLEANUP(mem_free_pointer)
  char *sql = mem_format("select min(waited_ms) >= 0 and min(ran_ms) >= 0 from"
                         " audit where run = '%s'",
                         id);
  fixture_expect(fixture, sql, "1");
  fixture_expect(fixture, "select min(lived_s) >= 0 from kernel_deaths", "1");
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, filled, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_audit_speaks_in_words),
      TEST(no_duration_is_negative),
      TEST(the_other_views_count_right),
      TEST(what_is_written_stays),
      TEST(retention_leaves_a_mark),
      TEST(the_chain_betrays_a_change),
      TEST(every_documented_query_finds_something),
      TEST(every_column_is_documented),
      TEST(no_statement_scans_the_history),
      TEST(the_audit_finds_the_last_hundred_by_index),
      cmocka_unit_test(every_statement_is_used_and_named_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
