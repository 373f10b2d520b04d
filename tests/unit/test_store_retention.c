/* What retention removes, and what it must not; a replay's life. */
#include "tests/unit/store_fixture.h"

#include "core/store/replay.h"
#include "core/store/retention.h"
#include "core/store/verify.h"

/* Runs with one artifact each; `name` of the artifact as given. */
static void add_run(struct fixture *fixture, const char *task,
                    const char *name) {
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run(task, "print(1)", id);
  CLEANUP(json_done) struct json *outputs = json_array();
  OK(fixture, run_insert(fixture->store, &run, existing, &fixture->err));
  run.status = RUN_OK;
  struct artifact_record artifact = {.sha256 = run.code_sha256,
                                     .mime = "image/png",
                                     .name = name,
                                     .bytes = 1000};
  struct run_ending ending = {.record = &run,
                              .outputs = outputs,
                              .artifacts = &artifact,
                              .artifact_count = 1};
  OK(fixture, run_finish(fixture->store, &ending, &fixture->err));
}

static int filled(void **state) {
  fixture_open(state);
  struct fixture *fixture = *state;
  add_run(fixture, "demo", "a.png");
  add_run(fixture, "demo", "b.png");
  add_run(fixture, "demo", "a.png");
  add_run(fixture, "demo", "c.png");
  return 0;
}

static int remove_all(struct fixture *fixture,
                      const struct retention_rule *rule, int most,
                      struct retention_files *files) {
  int64_t after = 0, removed = 0;
  int more;
  while ((more = retention_remove_runs(fixture->store, rule, most, &after,
                                       &removed, files, &fixture->err)) > 0)
    continue;
  OK(fixture, more);
  return (int)removed;
}

static void check(struct fixture *fixture) {
  int64_t runs;
  if (verify_database(fixture->path, &runs, &fixture->err) != 0)
    fail_msg("%s", fixture->err.text);
}

static void old_runs_go_but_for_the_newest(void **state) {
  struct fixture *fixture = *state;
  struct retention_rule rule = {.why = "age", .before = INT64_MAX};
  CLEANUP(retention_files_free) struct retention_files files = {0};
  check(fixture);
  assert_int_equal(remove_all(fixture, &rule, 2, &files), 3);
  fixture_expect(fixture,
                 "select (select group_concat(number) from runs),"
                 " (select group_concat(removed_why) from chain),"
                 " (select group_concat(name) from artifacts)",
                 "4|age,age,age|c.png");
  assert_int_equal(files.count, 2);
  assert_string_equal(files.list[0].name, "b.png");
  assert_string_equal(files.list[1].name, "a.png");
  assert_string_equal(files.list[1].task, "demo");
  check(fixture);
  assert_int_equal(remove_all(fixture, &rule, 2, &files), 0);
}

static void young_runs_stay(void **state) {
  struct fixture *fixture = *state;
  struct retention_rule rule = {.why = "age", .before = 1};
  CLEANUP(retention_files_free) struct retention_files files = {0};
  assert_int_equal(remove_all(fixture, &rule, 100, &files), 0);
}

static void open_runs_stay(void **state) {
  struct fixture *fixture = *state;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "print(1)", id);
  OK(fixture, run_insert(fixture->store, &run, existing, &fixture->err));
  add_run(fixture, "demo", "d.png");
  struct retention_rule rule = {.why = "age", .before = INT64_MAX};
  CLEANUP(retention_files_free) struct retention_files files = {0};
  assert_int_equal(remove_all(fixture, &rule, 100, &files), 4);
  fixture_expect(fixture, "select group_concat(number) from runs", "5,6");
}

/* An artifact counts once, for the newest run that has it. */
static void a_task_is_cut_to_its_bytes(void **state) {
  struct fixture *fixture = *state;
  int64_t cut;
  assert_int_equal(
      retention_find_cut(fixture->store, "demo", 3100, &cut, &fixture->err), 0);
  assert_int_equal(
      retention_find_cut(fixture->store, "demo", 2500, &cut, &fixture->err), 1);
  assert_int_equal(cut, 2);
  struct retention_rule rule = {
      .why = "bytes", .task = "demo", .before = INT64_MAX, .cut = cut};
  CLEANUP(retention_files_free) struct retention_files files = {0};
  assert_int_equal(remove_all(fixture, &rule, 100, &files), 2);
  fixture_expect(fixture,
                 "select (select group_concat(number) from runs),"
                 " (select group_concat(name) from artifacts)",
                 "3,4|a.png,c.png");
  check(fixture);
}

static void events_go_but_for_the_newest(void **state) {
  struct fixture *fixture = *state;
  int removed, total = 0;
  do {
    removed =
        retention_remove_events(fixture->store, INT64_MAX, 3, &fixture->err);
    total += removed;
  } while (removed == 3);
  assert_true(total > 6);
  fixture_expect(fixture, "select count(*), max(id) > 6 from events", "1|1");
  assert_int_equal(
      retention_remove_events(fixture->store, INT64_MAX, 3, &fixture->err), 0);
}

static struct replay_record a_replay(char id[ID_UUID_SIZE]) {
  id_new(id);
  return (struct replay_record){.id = id,
                                .task = (char *)"demo",
                                .asked_at = clock_wall_us(),
                                .asked_by = (char *)"anna",
                                .instance = (char *)INSTANCE,
                                .kernel = (char *)KERNEL_A,
                                .started_at = 1,
                                .ended_at = 2};
}

static void one_replay_answers_all_that_wait(void **state) {
  struct fixture *fixture = *state;
  char first_id[ID_UUID_SIZE], second_id[ID_UUID_SIZE];
  struct replay_record first = a_replay(first_id), second = a_replay(second_id);
  CLEANUP(replay_record_free) struct replay_record found = {0};
  OK(fixture, replay_insert(fixture->store, &first, &fixture->err));
  OK(fixture, replay_insert(fixture->store, &second, &fixture->err));
  assert_int_equal(
      replay_find_asked(fixture->store, "demo", &found, &fixture->err), 1);
  assert_string_equal(found.id, first_id);
  OK(fixture, replay_start(fixture->store, &first, &fixture->err));
  assert_int_equal(replay_cancel_requested(fixture->store, "demo", NULL), 0);
  assert_int_equal(replay_request_cancel(fixture->store, "demo", NULL), 1);
  assert_int_equal(replay_cancel_requested(fixture->store, "demo", NULL), 1);
  first.status = REPLAY_CANCELLED;
  first.cells = 3;
  OK(fixture, replay_finish(fixture->store, &first, &fixture->err));
  fixture_expect(fixture,
                 "select group_concat(status), sum(cells) from replays",
                 "cancelled,cancelled|6");
  replay_record_free(&found);
  assert_int_equal(
      replay_find_asked(fixture->store, "demo", &found, &fixture->err), 0);
  OK(fixture,
     replay_of_kernel(fixture->store, KERNEL_A, &found, &fixture->err));
}

static bool nobody_lives(int64_t pid, int64_t pid_start) {
  (void)pid;
  (void)pid_start;
  return false;
}

static void a_replay_of_a_dead_process_is_lost(void **state) {
  struct fixture *fixture = *state;
  char begun_id[ID_UUID_SIZE], asked_id[ID_UUID_SIZE];
  struct replay_record begun = a_replay(begun_id), asked = a_replay(asked_id);
  OK(fixture, replay_insert(fixture->store, &begun, &fixture->err));
  OK(fixture, replay_start(fixture->store, &begun, &fixture->err));
  OK(fixture, replay_insert(fixture->store, &asked, &fixture->err));
  OK(fixture, replay_close_lost(fixture->store, nobody_lives, &fixture->err));
  fixture_expect(fixture,
                 "select group_concat(status) from"
                 " (select status from replays order by asked_at)",
                 "lost,asked");
  OK(fixture, replay_cancel_asked(fixture->store, asked_id, &fixture->err));
  fixture_expect(fixture, "select count(*) from replays where ended_at is null",
                 "0");
}

/* In order, from where it was left, of the task's present life. */
static void what_went_well_is_replayed(void **state) {
  struct fixture *fixture = *state;
  char id[ID_UUID_SIZE];
  struct run_record failed = a_run("demo", "1/0", id);
  carry_out(fixture, &failed, RUN_ERROR);
  add_run(fixture, "demo", "d.png");
  struct run_record *list;
  size_t count;
  OK(fixture, replay_list_runs(fixture->store, "demo", NULL, 3, &list, &count,
                               &fixture->err));
  assert_int_equal(count, 3);
  char last[ID_UUID_SIZE];
  snprintf(last, sizeof last, "%s", list[2].id);
  run_list_free(list, count);
  OK(fixture, replay_list_runs(fixture->store, "demo", last, 3, &list, &count,
                               &fixture->err));
  assert_int_equal(count, 2);
  assert_int_equal(list[1].number, 6);
  run_list_free(list, count);
  OK(fixture, task_delete(fixture->store, "demo", &fixture->err));
  OK(fixture,
     task_put(fixture->store, "demo", "python3", NULL, "x", &fixture->err));
  OK(fixture, replay_list_runs(fixture->store, "demo", NULL, 3, &list, &count,
                               &fixture->err));
  assert_int_equal(count, 0);
  run_list_free(list, count);
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, filled, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(old_runs_go_but_for_the_newest),
      TEST(young_runs_stay),
      TEST(open_runs_stay),
      TEST(a_task_is_cut_to_its_bytes),
      TEST(events_go_but_for_the_newest),
      TEST(one_replay_answers_all_that_wait),
      TEST(a_replay_of_a_dead_process_is_lost),
      TEST(what_went_well_is_replayed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
