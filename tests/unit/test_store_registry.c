/* Tasks, kernels and events. */
#include "store_fixture.h"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &value, NULL), 0);
  return value;
}

static void putting_a_task_is_idempotent(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  CLEANUP(json_done) struct json *settings = parse("{\"env\":{\"A\":\"1\"}}");
  CLEANUP(json_done) struct json *empty = json_object();
  assert_int_equal(task_put(store, "t", "python3", settings, "anna", err), 1);
  assert_int_equal(task_put(store, "t", "python3", settings, "bert", err), 0);
  FAILS(fixture, ERR_CONFLICT, task_put(store, "t", "ir", settings, "x", err));
  FAILS(fixture, ERR_CONFLICT, task_put(store, "t", "python3", NULL, "x", err));
  struct task_record found;
  OK(fixture, task_get(store, "t", &found, err));
  assert_string_equal(found.kernelspec, "python3");
  assert_true(json_equal(found.settings, settings));
  assert_string_equal(found.created_by, "anna");
  assert_true(found.created_at > 0);
  assert_int_equal(found.runs, 0);
  assert_null(found.last_status);
  task_record_free(&found);
  /* No settings and empty ones are the same. */
  assert_int_equal(task_put(store, "demo", "python3", empty, "x", err), 0);
}

static void a_deleted_task_can_be_made_again(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  struct task_record found;
  char id[ID_UUID_SIZE];
  struct run_record run = a_run("demo", "1", id);
  carry_out(fixture, &run, RUN_ERROR);
  OK(fixture, task_delete(store, "demo", err));
  FAILS(fixture, ERR_NOT_FOUND, task_get(store, "demo", &found, err));
  FAILS(fixture, ERR_NOT_FOUND, task_delete(store, "demo", err));
  assert_int_equal(task_put(store, "demo", "ir", NULL, NULL, err), 1);
  OK(fixture, task_get(store, "demo", &found, err));
  assert_string_equal(found.kernelspec, "ir");
  assert_string_equal(found.created_by, "anonymous");
  assert_int_equal(found.deleted_at, 0);
  assert_int_equal(found.runs, 1);
  assert_string_equal(found.last_status, "error");
  assert_true(found.last_run_at > 0);
  task_record_free(&found);
}

static void tasks_are_listed_by_name(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  OK(fixture, task_put(store, "c", "python3", NULL, NULL, err));
  OK(fixture, task_put(store, "a", "python3", NULL, NULL, err));
  OK(fixture, task_put(store, "b", "python3", NULL, NULL, err));
  OK(fixture, task_delete(store, "b", err));
  struct task_record *list;
  size_t count;
  OK(fixture, task_list(store, NULL, NULL, 2, &list, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(list[0].id, "a");
  assert_string_equal(list[1].id, "c");
  task_list_free(list, count);
  OK(fixture, task_list(store, NULL, "c", 10, &list, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(list[0].id, "demo");
  task_list_free(list, count);
  OK(fixture, task_list(store, NULL, "z", 10, &list, &count, err));
  assert_int_equal(count, 0);
  task_list_free(list, count);
}

static struct kernel_record a_kernel(const char *id) {
  return (struct kernel_record){.id = (char *)(uintptr_t)id,
                                .task = (char *)"demo",
                                .kernelspec = (char *)"python3",
                                .exit_code = -1,
                                .memory_limit = 1000};
}

static void generations_count_up(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  struct kernel_record kernel = a_kernel(KERNEL_B), found;
  kernel.pid = 12;
  kernel.pid_start = 34;
  OK(fixture, kernel_insert(store, &kernel, err));
  assert_int_equal(kernel.generation, 2);
  OK(fixture, kernel_latest(store, "demo", &found, err));
  assert_string_equal(found.id, KERNEL_B);
  assert_int_equal(found.generation, 2);
  assert_int_equal(found.pid, 12);
  assert_int_equal(found.pid_start, 34);
  assert_int_equal(found.end, KERNEL_END_NONE);
  assert_int_equal(found.exit_code, -1);
  assert_int_equal(found.memory_limit, 1000);
  assert_true(found.started_at > 0);
  assert_null(found.directory);
  kernel_record_free(&found);
  FAILS(fixture, ERR_NOT_FOUND, kernel_latest(store, "nobody", &found, err));
  kernel.task = (char *)"nobody";
  kernel.id = (char *)"0190a000-0000-7000-8000-00000000000c";
  FAILS(fixture, ERR_CONFLICT, kernel_insert(store, &kernel, err));
}

static void a_kernel_ends_once(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  struct kernel_record found, *list;
  size_t count;
  OK(fixture,
     kernel_set_end(store, KERNEL_A, KERNEL_END_SIGNAL, -1, 9,
                    "killed from outside", 5000, clock_wall_us(), err));
  OK(fixture,
     kernel_set_end(store, KERNEL_A, KERNEL_END_EXIT, 3, 0, "no", 1, 7, err));
  OK(fixture, kernel_get(store, KERNEL_A, &found, err));
  assert_int_equal(found.end, KERNEL_END_SIGNAL);
  assert_int_equal(found.exit_code, -1);
  assert_int_equal(found.signal, 9);
  assert_string_equal(found.reason, "killed from outside");
  assert_int_equal(found.memory_peak, 5000);
  assert_string_equal(found.directory, "/run/k");
  assert_true(found.ended_at >= found.started_at);
  kernel_record_free(&found);
  OK(fixture, kernel_list_alive(store, &list, &count, err));
  assert_int_equal(count, 0);
  kernel_list_free(list, count);
  FAILS(
      fixture, ERR_NOT_FOUND,
      kernel_set_end(store, KERNEL_B, KERNEL_END_EXIT, 0, 0, NULL, 0, 5, err));
  fixture_expect(fixture,
                 "select group_concat(kind || ':' || (content ->> 'kernel'))"
                 " from events where kind like 'kernel.%'",
                 "kernel.started:" KERNEL_A ",kernel.ended:" KERNEL_A);
}

static void living_kernels_are_listed(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  struct kernel_record kernel = a_kernel(KERNEL_B), *list;
  size_t count;
  OK(fixture, kernel_insert(fixture->store, &kernel, err));
  OK(fixture, kernel_list_alive(fixture->store, &list, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(list[0].id, KERNEL_A);
  assert_string_equal(list[1].id, KERNEL_B);
  kernel_list_free(list, count);
}

static void activity_is_the_last_start_or_end(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  int64_t last_at = -1;
  bool busy = true;
  OK(fixture, kernel_activity(store, "demo", &last_at, &busy, err));
  assert_int_equal(last_at, 0);
  assert_false(busy);
  char first[ID_UUID_SIZE], second[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", first);
  run.queued_at = 100;
  run.started_at = 200;
  OK(fixture, run_insert(store, &run, existing, err));
  OK(fixture, run_start(store, &run, err));
  OK(fixture, kernel_activity(store, "demo", &last_at, &busy, err));
  assert_int_equal(last_at, 200);
  assert_true(busy);
  /* The run that ended last counts, not the one that came last. */
  struct run_record cancelled = a_run("demo", "2", second);
  cancelled.queued_at = 210;
  cancelled.ended_at = 220;
  cancelled.status = RUN_CANCELLED;
  OK(fixture, run_insert(store, &cancelled, existing, err));
  struct run_ending ending = {.record = &cancelled};
  OK(fixture, run_finish(store, &ending, err));
  run.ended_at = 300;
  run.status = RUN_OK;
  ending.record = &run;
  OK(fixture, run_finish(store, &ending, err));
  OK(fixture, kernel_activity(store, "demo", &last_at, &busy, err));
  assert_int_equal(last_at, 300);
  assert_false(busy);
}

static void every_end_has_a_name(void **state) {
  (void)state;
  assert_string_equal(kernel_end_name(KERNEL_END_NONE), "none");
  assert_string_equal(kernel_end_name(KERNEL_END_OOM), "oom");
  assert_string_equal(kernel_end_name(KERNEL_END_VANISHED), "vanished");
  assert_string_equal(kernel_end_name((enum kernel_end)99), "none");
}

static void events_resume_after_any_id(void **state) {
  struct fixture *fixture = *state;
  struct store *store = fixture->store;
  struct err *err = &fixture->err;
  struct event_text *list;
  size_t count;
  OK(fixture,
     event_list_texts(store, NULL, 0, INT64_MAX, 100, &list, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(list[0].kind, "task.created");
  assert_string_equal(list[0].task, "demo");
  assert_non_null(strstr(list[0].content, "\"created_by\":\"anna\""));
  int64_t last = list[1].id;
  event_texts_free(list, count);

  CLEANUP(json_done) struct json *content = parse("{\"n\":1}");
  struct event_record events[] = {
      {.task = (char *)"a", .kind = (char *)"run.output", .content = content},
      {.task = (char *)"b", .run = (char *)"r", .kind = (char *)"run.output"},
      {.at = 5, .task = (char *)"a", .kind = (char *)"run.output"},
  };
  OK(fixture, event_append(store, events, 3, err));
  OK(fixture,
     event_list_texts(store, "a", last, INT64_MAX, 100, &list, &count, err));
  assert_int_equal(count, 2);
  assert_true(list[0].id > last && list[1].id > list[0].id);
  assert_string_equal(list[0].content, "{\"n\":1}");
  assert_true(list[0].at > 5);
  assert_int_equal(list[1].at, 5);
  assert_null(list[0].run);
  event_texts_free(list, count);
  OK(fixture,
     event_list_texts(store, NULL, last, INT64_MAX, 1, &list, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(list[0].task, "a");
  event_texts_free(list, count);
}

static void events_are_written_all_or_none(void **state) {
  struct fixture *fixture = *state;
  struct event_record events[] = {
      {.task = (char *)"a", .kind = (char *)"run.output"},
      {.task = (char *)"a", .kind = (char *)"without a point"},
  };
  FAILS(fixture, ERR_INTERNAL,
        event_append(fixture->store, events, 2, &fixture->err));
  fixture_expect(fixture, "select count(*) from events where task = 'a'", "0");
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(putting_a_task_is_idempotent),
      TEST(a_deleted_task_can_be_made_again),
      TEST(tasks_are_listed_by_name),
      TEST(generations_count_up),
      TEST(a_kernel_ends_once),
      TEST(living_kernels_are_listed),
      TEST(activity_is_the_last_start_or_end),
      cmocka_unit_test(every_end_has_a_name),
      TEST(events_resume_after_any_id),
      TEST(events_are_written_all_or_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
