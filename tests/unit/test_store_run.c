/* Runs: their life from queued to the end, lists, and what is refused. */
#include "store_fixture.h"

static void a_run_goes_from_queued_to_ok(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "print(1)", id), found;
  OK(fixture, run_insert(store, &run, existing, err));
  OK(fixture, run_get(store, id, &found, err));
  assert_int_equal(found.status, RUN_QUEUED);
  assert_int_equal(found.number, 1);
  assert_string_equal(found.code, "print(1)");
  assert_int_equal(found.code_length, 8);
  assert_string_equal(found.code_sha256, run.code_sha256);
  assert_true(found.queued_at > 0);
  assert_int_equal(found.started_at, 0);
  assert_null(found.kernel);
  assert_int_equal(found.execution_count, -1);
  run_record_free(&found);

  OK(fixture, run_start(store, &run, err));
  OK(fixture, run_get(store, id, &found, err));
  assert_int_equal(found.status, RUN_RUNNING);
  assert_string_equal(found.kernel, KERNEL_A);
  assert_string_equal(found.kernel_state, "kept");
  run_record_free(&found);

  run.status = RUN_OK;
  struct run_ending ending = {.record = &run};
  OK(fixture, run_finish(store, &ending, err));
  OK(fixture, run_get(store, id, &found, err));
  assert_int_equal(found.status, RUN_OK);
  assert_true(found.ended_at >= found.started_at);
  assert_int_equal(found.execution_count, 1);
  assert_int_equal(found.cpu_ms, 3);
  assert_int_equal(found.memory_peak_bytes, -1);
  assert_null(found.error);
  run_record_free(&found);
}

static struct json *parse(const char *text) {
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &value, NULL), 0);
  return value;
}

static void every_member_comes_back(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1/0", id), found;
  run.section = (char *)"Load";
  run.tags = parse("[\"a\",\"b\"]");
  run.silent = true;
  run.request_id = (char *)"req-7";
  run.idempotency_key = (char *)"key";
  memset(run.body_sha256, 'b', 64);
  run.options = parse("{\"text_limit\":20000}");
  run.queued_at = 1000001;
  run.started_at = 1000002;
  run.ended_at = 1000003;
  run.kernel_reason = (char *)"culled";
  run.status = RUN_ERROR;
  run.error = parse("{\"ename\":\"ZeroDivisionError\",\"evalue\":\"x\"}");
  run.text = (char *)"ZeroDivisionError: x";
  run.files = parse("[{\"path\":\"a.csv\"}]");
  run.truncated = parse("{\"stdout\":5}");
  run.images = parse("[{\"mime\":\"image/png\"}]");
  run.notes = parse("[\"the disk was full\"]");
  run.ended_by = (char *)"SIGINT";
  run.memory_peak_bytes = 12345;
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  OK(fixture, run_start(fixture->store, &run, err));
  struct run_ending ending = {.record = &run};
  OK(fixture, run_finish(fixture->store, &ending, err));
  OK(fixture, run_get(fixture->store, id, &found, err));
  assert_string_equal(found.section, "Load");
  assert_true(json_equal(found.tags, run.tags));
  assert_true(found.silent);
  assert_string_equal(found.caller, "anna");
  assert_string_equal(found.address, "127.0.0.1");
  assert_string_equal(found.request_id, "req-7");
  assert_string_equal(found.idempotency_key, "key");
  assert_string_equal(found.body_sha256, run.body_sha256);
  assert_string_equal(found.instance, INSTANCE);
  assert_int_equal(found.timeout_ms, 2000);
  assert_true(json_equal(found.options, run.options));
  assert_int_equal(found.queued_at, 1000001);
  assert_int_equal(found.started_at, 1000002);
  assert_int_equal(found.ended_at, 1000003);
  assert_int_equal(found.generation, 1);
  assert_string_equal(found.kernel_reason, "culled");
  assert_string_equal(found.cell, "cell-1");
  assert_int_equal(found.status, RUN_ERROR);
  assert_true(json_equal(found.error, run.error));
  assert_string_equal(found.text, run.text);
  assert_true(json_equal(found.files, run.files));
  assert_true(json_equal(found.truncated, run.truncated));
  assert_true(json_equal(found.images, run.images));
  assert_true(json_equal(found.notes, run.notes));
  assert_string_equal(found.ended_by, "SIGINT");
  assert_int_equal(found.memory_peak_bytes, 12345);
  assert_int_equal(found.output_bytes, 2);
  assert_int_equal(found.late_outputs, 0);
  run_record_free(&found);
  json_free(run.tags);
  json_free(run.options);
  json_free(run.error);
  json_free(run.files);
  json_free(run.truncated);
  json_free(run.images);
  json_free(run.notes);
}

static void bytes_of_the_code_are_kept(void **state) {
  struct fixture *fixture = *state;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "", id), found;
  run.code = (char *)"a\0b\xff\xed\xa0\x80";
  run.code_length = 7;
  OK(fixture, run_insert(fixture->store, &run, existing, &fixture->err));
  OK(fixture, run_get(fixture->store, id, &found, &fixture->err));
  const char expected[] =
      "a\0b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
  assert_int_equal(found.code_length, sizeof expected - 1);
  assert_memory_equal(found.code, expected, sizeof expected);
  run_record_free(&found);
}

static void a_run_needs_a_living_task(void **state) {
  struct fixture *fixture = *state;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("nobody", "1", id);
  FAILS(fixture, ERR_NOT_FOUND,
        run_insert(fixture->store, &run, existing, &fixture->err));
  OK(fixture, task_delete(fixture->store, "demo", &fixture->err));
  run.task = (char *)"demo";
  FAILS(fixture, ERR_NOT_FOUND,
        run_insert(fixture->store, &run, existing, &fixture->err));
}

static void a_key_is_used_once(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char first[ID_UUID_SIZE], second[ID_UUID_SIZE], existing[37] = "";
  struct run_record run = a_run("demo", "1", first);
  run.idempotency_key = (char *)"k";
  memset(run.body_sha256, 'a', 64);
  assert_int_equal(run_insert(fixture->store, &run, existing, err), 0);
  id_new(second);
  run.id = second;
  assert_int_equal(run_insert(fixture->store, &run, existing, err), 1);
  assert_string_equal(existing, first);
  run.body_sha256[0] = 'b';
  FAILS(fixture, ERR_CONFLICT, run_insert(fixture->store, &run, existing, err));
  FAILS(fixture, ERR_NOT_FOUND,
        run_get(fixture->store, second, &(struct run_record){0}, err));
  /* Another task has keys of its own. */
  OK(fixture, task_put(fixture->store, "other", "python3", NULL, NULL, err));
  run.task = (char *)"other";
  assert_int_equal(run_insert(fixture->store, &run, existing, err), 0);
}

static void a_run_ends_once(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE];
  struct run_record run = a_run("demo", "1", id);
  carry_out(fixture, &run, RUN_OK);
  run.status = RUN_ERROR;
  struct run_ending ending = {.record = &run};
  FAILS(fixture, ERR_CONFLICT, run_finish(fixture->store, &ending, err));
  assert_non_null(strstr(err->text, "ok already"));
  FAILS(fixture, ERR_CONFLICT, run_start(fixture->store, &run, err));
  run.id = (char *)KERNEL_B;
  FAILS(fixture, ERR_NOT_FOUND, run_finish(fixture->store, &ending, err));
  run.status = RUN_RUNNING;
  FAILS(fixture, ERR_INTERNAL, run_finish(fixture->store, &ending, err));
}

static void what_the_end_writes_is_one_whole(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id), found;
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  OK(fixture, run_start(fixture->store, &run, err));
  run.status = RUN_OK;
  CLEANUP(json_done) struct json *outputs = parse("[{\"output_type\":\"x\"}]");
  /* The artifact lacks its type: the database refuses it, last of all. */
  struct artifact_record artifact = {.sha256 = run.code_sha256,
                                     .name = "a.png"};
  struct run_ending ending = {.record = &run,
                              .outputs = outputs,
                              .artifacts = &artifact,
                              .artifact_count = 1};
  FAILS(fixture, ERR_INTERNAL, run_finish(fixture->store, &ending, err));
  OK(fixture, run_get(fixture->store, id, &found, err));
  assert_int_equal(found.status, RUN_RUNNING);
  run_record_free(&found);
  fixture_expect(fixture, "select count(*) from outputs", "0");
}

static void outputs_come_back_in_order(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id);
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  OK(fixture, run_start(fixture->store, &run, err));
  run.status = RUN_OK;
  CLEANUP(json_done) struct json *outputs = json_array();
  for (int i = 0; i < 25; i++) {
    struct json *output = json_object();
    json_set_text(output, "output_type", "stream");
    json_set_integer(output, "i", i);
    json_push(outputs, output);
  }
  struct run_ending ending = {.record = &run, .outputs = outputs};
  OK(fixture, run_finish(fixture->store, &ending, err));
  CLEANUP(json_done) struct json *found = NULL;
  OK(fixture, run_outputs(fixture->store, id, &found, err));
  assert_true(json_equal(found, outputs));
  FAILS(fixture, ERR_NOT_FOUND,
        run_outputs(fixture->store, KERNEL_B, &found, err));
}

static void late_outputs_are_appended_and_counted(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], open[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id), found;
  carry_out(fixture, &run, RUN_OK);
  CLEANUP(json_done)
  struct json *late = parse(
      "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"late\"},"
      "{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"too\"},"
      "{\"output_type\":\"display_data\",\"data\":{},\"metadata\":{}}]");
  struct run_display display = {"late-display", 2};
  OK(fixture, run_add_late(fixture->store, id, late, &display, 1, err));
  CLEANUP(json_done) struct json *outputs = NULL;
  OK(fixture, run_outputs(fixture->store, id, &outputs, err));
  assert_int_equal(json_length(outputs), 4);
  assert_string_equal(json_get_text(json_at(outputs, 2), "text"), "too");
  OK(fixture, run_get(fixture->store, id, &found, err));
  assert_int_equal(found.late_outputs, 3);
  run_record_free(&found);
  struct run_display_place *places;
  size_t count;
  OK(fixture, run_find_display(fixture->store, "demo", KERNEL_A, "late-display",
                               &places, &count, err));
  assert_int_equal(count, 1);
  assert_int_equal(places[0].position, 3);
  /* "late" went on in the stream before it. */
  assert_int_equal(places[0].cell_position, 2);
  run_display_places_free(places, count);
  /* Until the notebook has them, too. */
  struct run_record *unwritten;
  OK(fixture, run_list_unwritten(fixture->store, &unwritten, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(unwritten[0].id, id);
  assert_string_equal(unwritten[0].task, "demo");
  run_list_free(unwritten, count);
  assert_int_equal(run_is_unwritten(fixture->store, id, err), 1);
  OK(fixture, run_note_written(fixture->store, id, err));
  assert_int_equal(run_is_unwritten(fixture->store, id, err), 0);
  fixture_expect(fixture,
                 "select content ->> '$.outputs[0].text' from events"
                 " where kind = 'run.late'",
                 "late");
  struct run_record unended = a_run("demo", "2", open);
  OK(fixture, run_insert(fixture->store, &unended, existing, err));
  FAILS(fixture, ERR_CONFLICT,
        run_add_late(fixture->store, open, late, NULL, 0, err));
}

static void a_display_is_found_and_updated(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id);
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  OK(fixture, run_start(fixture->store, &run, err));
  run.status = RUN_OK;
  CLEANUP(json_done)
  struct json *outputs = parse(
      "[{\"output_type\":\"display_data\",\"data\":{\"text/plain\":\"1\"},"
      "\"metadata\":{}}]");
  struct run_display display = {"d", 0};
  struct run_ending ending = {.record = &run,
                              .outputs = outputs,
                              .displays = &display,
                              .display_count = 1};
  OK(fixture, run_finish(fixture->store, &ending, err));

  struct run_display_place *places;
  size_t count;
  OK(fixture, run_find_display(fixture->store, "demo", KERNEL_B, "d", &places,
                               &count, err));
  assert_int_equal(count, 0);
  OK(fixture, run_find_display(fixture->store, "demo", KERNEL_A, "d", &places,
                               &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(places[0].run, id);
  assert_int_equal(places[0].position, 0);
  run_display_places_free(places, count);

  CLEANUP(json_done) struct json *data = parse("{\"text/plain\":\"2\"}");
  const struct run_output_change changes[] = {
      {id, 1, data, NULL}, {id, 0, data, NULL}, {"none", 0, data, NULL}};
  OK(fixture, run_update_outputs(fixture->store, changes, 3, err));
  CLEANUP(json_done) struct json *found = NULL;
  OK(fixture, run_outputs(fixture->store, id, &found, err));
  assert_string_equal(
      json_get_text(json_get(json_at(found, 0), "data"), "text/plain"), "2");
  assert_int_equal(json_length(found), 1);
}

/* Three runs of "demo" (ok, error, queued) and one of "other". */
static void make_four(struct fixture *fixture, char ids[4][ID_UUID_SIZE]) {
  struct err *err = &fixture->err;
  char existing[37];
  struct run_record run = a_run("demo", "1", ids[0]);
  carry_out(fixture, &run, RUN_OK);
  OK(fixture, task_put(fixture->store, "other", "python3", NULL, NULL, err));
  run = a_run("other", "2", ids[1]);
  carry_out(fixture, &run, RUN_OK);
  run = a_run("demo", "3", ids[2]);
  carry_out(fixture, &run, RUN_ERROR);
  run = a_run("demo", "4", ids[3]);
  OK(fixture, run_insert(fixture->store, &run, existing, err));
}

/* The codes of the list, in order, must be `expected`. */
static void expect_list(struct fixture *fixture, const char *task,
                        const char *before, const char *status, int limit,
                        const char *expected) {
  struct run_record *list;
  size_t count;
  OK(fixture, run_list(fixture->store, task, before, status, RUN_WHOLE, limit,
                       &list, &count, &fixture->err));
  CLEANUP(buf_free) struct buf codes = BUF_INIT(BUF_LINE);
  for (size_t i = 0; i < count; i++)
    buf_text(&codes, list[i].code);
  assert_string_equal(buf_string(&codes), expected);
  run_list_free(list, count);
}

static void lists_go_from_the_newest_back(void **state) {
  struct fixture *fixture = *state;
  char ids[4][ID_UUID_SIZE];
  make_four(fixture, ids);
  expect_list(fixture, NULL, NULL, NULL, 10, "4321");
  expect_list(fixture, NULL, NULL, NULL, 2, "43");
  expect_list(fixture, NULL, ids[2], NULL, 10, "21");
  expect_list(fixture, "demo", NULL, NULL, 10, "431");
  expect_list(fixture, "demo", ids[2], NULL, 10, "1");
  expect_list(fixture, NULL, NULL, "ok", 10, "21");
  expect_list(fixture, NULL, NULL, "error", 10, "3");
  expect_list(fixture, NULL, NULL, "queued", 10, "4");
  expect_list(fixture, "demo", NULL, "ok", 10, "1");
  expect_list(fixture, "demo", NULL, "error", 10, "3");
  expect_list(fixture, "demo", NULL, "queued", 10, "4");
  expect_list(fixture, "demo", NULL, "running", 10, "");
  expect_list(fixture, "demo", ids[0], "ok", 10, "");
  struct run_record *list;
  size_t count;
  FAILS(fixture, ERR_NOT_FOUND,
        run_list(fixture->store, "demo", ids[1], NULL, RUN_BRIEF, 10, &list,
                 &count, &fixture->err));
}

static void open_runs_stand_in_their_order(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char ids[4][ID_UUID_SIZE], last[ID_UUID_SIZE], existing[37];
  make_four(fixture, ids);
  struct run_record run = a_run("demo", "5", last);
  OK(fixture, run_insert(fixture->store, &run, existing, err));
  struct run_record *list;
  size_t count;
  OK(fixture,
     run_list_open(fixture->store, "demo", RUN_BRIEF, &list, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(list[0].code, "4");
  assert_int_equal(list[0].number, 3);
  assert_string_equal(list[1].code, "5");
  run_list_free(list, count);
}

static void the_wish_to_cancel_is_noted_once(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id);
  OK(fixture, run_insert(store, &run, existing, err));
  assert_int_equal(run_cancel_requested(store, id, err), 0);
  assert_int_equal(run_request_cancel(store, id, "bert", err), 1);
  assert_int_equal(run_request_cancel(store, id, "carl", err), 1);
  assert_int_equal(run_cancel_requested(store, id, err), 1);
  fixture_expect(fixture, "select stop_asked_by from audit", "bert");
  run.status = RUN_CANCELLED;
  struct run_ending ending = {.record = &run};
  OK(fixture, run_finish(store, &ending, err));
  assert_int_equal(run_request_cancel(store, id, "dora", err), 0);
  FAILS(fixture, ERR_NOT_FOUND, run_request_cancel(store, KERNEL_B, "x", err));
  FAILS(fixture, ERR_NOT_FOUND, run_cancel_requested(store, KERNEL_B, err));
}

static bool only_pid_7_lives(int64_t pid, int64_t pid_start) {
  return pid == 7 && pid_start == 70;
}

static bool the_first_has_begun(const void *context,
                                const struct run_record *run) {
  assert_string_equal(run->task, "demo");
  return strcmp(context, run->id) == 0;
}

static void runs_of_dead_instances_are_closed(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  char ids[4][ID_UUID_SIZE], existing[37];
  OK(fixture, store_instance_start(store, "alive", "cellpost", 7, 70, err));
  struct run_record run, found;
  for (int i = 0; i < 4; i++) {
    run = a_run("demo", "1", ids[i]);
    if (i == 3)
      run.instance = (char *)"alive";
    OK(fixture, run_insert(store, &run, existing, err));
    if (i == 0)
      OK(fixture, run_start(store, &run, err));
  }

  CLEANUP(json_done) struct json *error = json_object();
  const struct run_record lost = {.text = (char *)"[lost]", .error = error};
  const struct run_record not_run = {.text = (char *)"[not]", .error = error};
  const struct run_losing losing = {&lost, &not_run, the_first_has_begun,
                                    ids[1]};
  for (int expected = 3; expected >= 0; expected -= 3)
    assert_int_equal(run_close_lost(store, only_pid_7_lives, &losing, err),
                     expected);
  /* Running; queued, but sent to the kernel; queued; of one that lives. */
  static const enum run_status ends[] = {RUN_LOST, RUN_LOST, RUN_NOT_RUN,
                                         RUN_QUEUED};
  for (int i = 0; i < 4; i++) {
    OK(fixture, run_get(store, ids[i], &found, err));
    assert_int_equal(found.status, ends[i]);
    assert_int_equal(json_length(found.notes), i < 3 ? 1 : 0);
    assert_true((found.error != NULL) == (i < 3));
    assert_true((found.text != NULL) == (i < 3));
    assert_int_equal(run_is_unwritten(store, ids[i], err), i < 3);
    run_record_free(&found);
  }
  fixture_expect(fixture,
                 "select count(*) from events where kind = 'run.finished'"
                 " and content ->> 'status' = 'lost'",
                 "2");
  /* A leader that was only believed dead cannot overwrite the end. */
  run.id = ids[0];
  run.status = RUN_OK;
  struct run_ending ending = {.record = &run};
  FAILS(fixture, ERR_CONFLICT, run_finish(store, &ending, err));
}

static void the_run_before_is_that_of_the_kernel(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  char id[ID_UUID_SIZE], existing[37];
  struct run_record found;
  FAILS(fixture, ERR_NOT_FOUND,
        run_previous(store, "demo", KERNEL_A, &found, err));
  struct run_record run = a_run("demo", "1", id);
  carry_out(fixture, &run, RUN_TIMEOUT);
  run = a_run("demo", "2", id);
  OK(fixture, run_insert(store, &run, existing, err));
  OK(fixture, run_start(store, &run, err));
  OK(fixture, run_previous(store, "demo", KERNEL_A, &found, err));
  assert_string_equal(found.code, "1");
  assert_int_equal(found.status, RUN_TIMEOUT);
  run_record_free(&found);
  FAILS(fixture, ERR_NOT_FOUND,
        run_previous(store, "demo", KERNEL_B, &found, err));
}

static void names_and_statuses_match(void **state) {
  (void)state;
  for (int i = RUN_QUEUED; i <= RUN_NOT_RUN; i++)
    assert_int_equal(run_status_parse(run_status_name((enum run_status)i)), i);
  assert_int_equal(run_status_parse("nonsense"), RUN_LOST);
  assert_string_equal(run_status_name(RUN_OUTPUT_LIMIT), "output_limit");
}

static void a_list_holds_no_more_than_it_shows(void **state) {
  struct fixture *fixture = *state;
  static char code[1 << 20];
  for (size_t i = 0; i + 3 < sizeof code; i += 3)
    memcpy(code + i, "\xe2\x82\xac", 4);
  char id[ID_UUID_SIZE];
  struct run_record run = a_run("demo", code, id);
  carry_out(fixture, &run, RUN_OK);
  static const struct {
    enum run_detail detail;
    size_t length;
  } cases[] = {
      {RUN_WHOLE, (1 << 20) - 1}, {RUN_SHOWN, 65535}, {RUN_BRIEF, 798}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct run_record *list;
    size_t count;
    OK(fixture, run_list(fixture->store, "demo", NULL, NULL, cases[i].detail, 5,
                         &list, &count, &fixture->err));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].code_length, cases[i].length);
    assert_memory_equal(list[0].code, code, cases[i].length);
    assert_int_equal(list[0].status, RUN_OK);
    run_list_free(list, count);
  }
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_list_holds_no_more_than_it_shows),
      TEST(a_run_goes_from_queued_to_ok),
      TEST(every_member_comes_back),
      TEST(bytes_of_the_code_are_kept),
      TEST(a_run_needs_a_living_task),
      TEST(a_key_is_used_once),
      TEST(a_run_ends_once),
      TEST(what_the_end_writes_is_one_whole),
      TEST(outputs_come_back_in_order),
      TEST(late_outputs_are_appended_and_counted),
      TEST(a_display_is_found_and_updated),
      TEST(lists_go_from_the_newest_back),
      TEST(open_runs_stand_in_their_order),
      TEST(the_wish_to_cancel_is_noted_once),
      TEST(runs_of_dead_instances_are_closed),
      TEST(the_run_before_is_that_of_the_kernel),
      cmocka_unit_test(names_and_statuses_match),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
