/* Runs: their life from queued to the end, and what is refused. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_run_goes_from_queued_to_ok,
                                      fixture_open, fixture_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
