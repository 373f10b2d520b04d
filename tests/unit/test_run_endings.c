/* Ends of runs that the registry cannot take at once are not lost. */
#include "tests/unit/store_fixture.h"

#include <signal.h>
#include <sys/resource.h>

#include "core/run/engine/endings.h"

static void set_file_limit(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {bytes, RLIM_INFINITY};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A run that is going on. */
static struct run_record start(struct fixture *fixture, char id[ID_UUID_SIZE]) {
  char existing[37];
  struct run_record run = a_run("demo", "1", id);
  OK(fixture, run_insert(fixture->store, &run, existing, &fixture->err));
  OK(fixture, run_start(fixture->store, &run, &fixture->err));
  return run;
}

static struct json *outputs_of(size_t bytes) {
  CLEANUP(mem_free_pointer) char *text = mem_array(bytes + 1, 1);
  memset(text, 'x', bytes);
  struct json *outputs = json_array(), *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "text", text);
  json_push(outputs, output);
  return outputs;
}

static int finish(struct fixture *fixture, struct endings *endings,
                  struct run_record *run, const struct json *outputs) {
  struct artifact_record artifact = {.sha256 = run->code_sha256,
                                     .mime = "image/png",
                                     .name = "picture.png",
                                     .bytes = 5};
  struct run_display display = {"d1", 0};
  char kind[] = "run.output";
  struct event_record event = {.task = run->task, .run = run->id, .kind = kind};
  run->status = RUN_OK;
  struct run_ending ending = {.record = run,
                              .outputs = outputs,
                              .artifacts = &artifact,
                              .artifact_count = 1,
                              .displays = &display,
                              .display_count = 1,
                              .events = &event,
                              .event_count = 1};
  return endings_finish(endings, fixture->store, &ending, &fixture->err);
}

static void an_end_is_tried_again(void **state) {
  struct fixture *fixture = *state;
  struct endings *endings = endings_new();
  char id[ID_UUID_SIZE];
  struct run_record run = start(fixture, id);
  CLEANUP(json_done) struct json *outputs = outputs_of(100000);
  set_file_limit(65536);
  assert_int_equal(finish(fixture, endings, &run, outputs), -1);
  json_done(&outputs);
  memset(id, 'x', sizeof id - 1); /* what was given is not used any more */
  endings_retry(endings, fixture->store, -1);
  set_file_limit(RLIM_INFINITY);
  fixture_expect(fixture, "select status from runs", "running");
  endings_retry(endings, fixture->store, -1);
  fixture_expect(fixture,
                 "select status, end_number, notes ->> 0 like '%later%',"
                 " (select length(content) from outputs) > 100000,"
                 " (select count(*) from run_artifacts),"
                 " (select count(*) from displays),"
                 " (select count(*) from chain),"
                 " (select count(*) from events where kind = 'run.output')"
                 " from runs",
                 "ok|1|1|1|1|1|1|1");
  endings_retry(endings, fixture->store, -1);
  fixture_expect(fixture, "select count(*) from chain", "1");
  endings_free(endings);
}

static void a_run_that_has_an_end_keeps_it(void **state) {
  struct fixture *fixture = *state;
  struct endings *endings = endings_new();
  char id[ID_UUID_SIZE];
  struct run_record run = start(fixture, id);
  CLEANUP(json_done) struct json *outputs = outputs_of(3);
  OK(fixture, finish(fixture, endings, &run, outputs));
  FAILS(fixture, ERR_CONFLICT, finish(fixture, endings, &run, outputs));
  endings_retry(endings, fixture->store, -1);
  fixture_expect(fixture, "select count(*) from chain", "1");
  endings_free(endings);
}

/* One that comes later than the first waits behind it. */
static void ends_keep_their_order(void **state) {
  struct fixture *fixture = *state;
  struct endings *endings = endings_new();
  char first_id[ID_UUID_SIZE], second_id[ID_UUID_SIZE];
  struct run_record first = start(fixture, first_id);
  struct run_record second = start(fixture, second_id);
  CLEANUP(json_done) struct json *outputs = outputs_of(100000);
  set_file_limit(65536);
  assert_int_equal(finish(fixture, endings, &first, outputs), -1);
  assert_int_equal(finish(fixture, endings, &second, outputs), -1);
  set_file_limit(RLIM_INFINITY);
  endings_retry(endings, fixture->store, -1);
  fixture_expect(fixture, "select group_concat(end_number) from runs", "1,2");
  endings_free(endings);
}

/* A start that could not be written comes with the end. */
static void the_end_brings_the_start(void **state) {
  struct fixture *fixture = *state;
  struct endings *endings = endings_new();
  char id[ID_UUID_SIZE], existing[37];
  struct run_record run = a_run("demo", "1", id);
  run.started_at = INT64_C(4000000000000077); /* after it was queued */
  OK(fixture, run_insert(fixture->store, &run, existing, &fixture->err));
  CLEANUP(json_done) struct json *outputs = outputs_of(3);
  OK(fixture, finish(fixture, endings, &run, outputs));
  fixture_expect(fixture,
                 "select started_at, kernel, generation, kernel_state, cell"
                 " from runs",
                 "4000000000000077|" KERNEL_A "|1|kept|cell-1");
  endings_free(endings);
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_end_is_tried_again),
      TEST(a_run_that_has_an_end_keeps_it),
      TEST(ends_keep_their_order),
      TEST(the_end_brings_the_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
