/* The client against Debian's ipykernel, over ipc sockets. One kernel serves
 * all tests that leave it as it was. */
#include "tests/unit/kernel_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/jupyter/channel_cache.h"

static size_t count_of(struct channel_cache *cache) {
  size_t count;
  free(channel_cache_names(cache, &count));
  return count;
}

static const char *const ipykernel[] = {
    "/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{}", NULL};
static struct fixture kernel;

static int start_kernel(void **state) {
  (void)state;
  fixture_start(&kernel, ipykernel);
  fixture_prove(&kernel);
  return 0;
}

static int stop_kernel(void **state) {
  (void)state;
  fixture_stop(&kernel);
  return 0;
}

static void it_tells_what_it_is(void **state) {
  (void)state;
  assert_string_equal(kernel.info.language, "python");
  assert_string_equal(kernel.info.file_extension, ".py");
  assert_string_equal(kernel.info.implementation, "ipython");
  assert_string_equal(
      json_get_text(kernel.info.language_info, "pygments_lexer"), "ipython3");
}

static void one_and_one_is_two(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "1+1", &outcome);
  expect_transcript(&outcome, "[execute_result]2\n");
  assert_true(client_finished(&outcome.execution));
  assert_false(outcome.execution.failed);
  assert_true(outcome.execution.execution_count >= 1);
  assert_true(outcome.execution.busy_at_us > 0 &&
              outcome.execution.input_at_us > 0);
}

static void an_error_is_kept_beside_the_output(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "print('before')\n1/0", &outcome);
  expect_transcript(&outcome, "[stream]before\n\n[error]ZeroDivisionError\n");
  assert_true(outcome.execution.failed);
  assert_string_equal(json_get_text(outcome.execution.error, "evalue"),
                      "division by zero");
  assert_true(json_length(json_get(outcome.execution.error, "traceback")) > 0);
}

/* stop_on_error is false: a cell sent at once after an error is run. */
static void a_cell_behind_an_error_is_not_aborted(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    CLEANUP(outcome_free) struct outcome bad;
    CLEANUP(outcome_free) struct outcome good;
    begin_code(&kernel, "1/0", false, &bad);
    begin_code(&kernel, "6*7", false, &good);
    wait_for_end(&kernel, 20, NULL, &good);
    assert_false(good.execution.aborted);
    assert_non_null(
        strstr(buf_string(&good.transcript), "[execute_result]42\n"));
  }
}

static void input_is_answered(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, "'<' + input('name? ') + '>'", true, &outcome);
  wait_for_end(&kernel, 20, "caf\xC3\xA9", &outcome);
  expect_transcript(&outcome, "[input_request]name? \n"
                              "[execute_result]'<caf\xC3\xA9>'\n");
}

static void input_at_the_end_is_an_eof(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, "input('name? ')", true, &outcome);
  wait_for_end(&kernel, 20, NULL, &outcome);
  assert_string_equal(json_get_text(outcome.execution.error, "ename"),
                      "EOFError");
}

static void input_without_stdin_is_an_error_at_once(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "input('name? ')", &outcome);
  expect_transcript(&outcome, "[error]StdinNotImplementedError\n");
  assert_true(outcome.execution.failed);
}

static void the_pager_speaks_in_the_reply(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "len?", &outcome);
  expect_transcript(&outcome, "");
  assert_non_null(strstr(json_get_text(outcome.execution.page, "text/plain"),
                         "number of items"));
}

static void expressions_are_evaluated(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *expressions = json_object();
  json_set_text(expressions, "sum", "40+2");
  struct execute_options options = {.silent = true,
                                    .user_expressions = expressions};
  CLEANUP(outcome_free)
  struct outcome outcome = {.transcript = BUF_INIT(BUF_SMALL)};
  assert_int_equal(
      client_execute(kernel.channel, "", 0, &options, &outcome.execution, NULL),
      0);
  wait_for_end(&kernel, 20, NULL, &outcome);
  const struct json *sum = json_get(outcome.execution.user_expressions, "sum");
  assert_string_equal(json_get_text(json_get(sum, "data"), "text/plain"), "42");
}

/* ipykernel puts a raw 0xFF into the frame, signed as it is. */
static void bytes_that_are_no_text_pass(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "print('a\\udcffb', end='')", &outcome);
  expect_transcript(&outcome, "[stream]a\xEF\xBF\xBD"
                              "b\n");
}

/* Both ends have a high-water mark, by default 1000 messages: beyond it output
 * and even idle are lost. The kernel's is its own affair, and lifted here in
 * its own words; this is about ours. The kernel says through a FIFO that it has
 * written everything. */
static void a_slow_reader_loses_nothing(void **state) {
  (void)state;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/written", kernel.directory);
  CLEANUP(mem_free_pointer)
  char *code =
      mem_format("import sys, zmq\n"
                 "thread = get_ipython().kernel.iopub_thread\n"
                 "thread.schedule(lambda: "
                 "thread.socket.setsockopt(zmq.SNDHWM, 0))\n"
                 "for i in range(10000): print('0' * 100); sys.stdout.flush()\n"
                 "open('%s', 'w').close()",
                 path);
  CLEANUP(outcome_free) struct outcome outcome;
  assert_int_equal(mkfifo(path, 0600), 0);
  begin_code(&kernel, code, false, &outcome);
  CLEANUP(mem_close_descriptor) int written = open(path, O_RDONLY);
  assert_true(written >= 0);
  wait_for_end(&kernel, 60, NULL, &outcome);
  assert_true(client_finished(&outcome.execution));
  size_t zeros = 0;
  for (size_t i = 0; i < outcome.transcript.length; i++)
    zeros += outcome.transcript.data[i] == '0';
  assert_int_equal(zeros, 10000 * 100);
}

static void an_await_is_woken_by_a_nudge(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel,
             "print('in', flush=True)\nimport asyncio\nawait asyncio.sleep(60)",
             false, &outcome);
  while (strstr(buf_string(&outcome.transcript), "in\n") == NULL &&
         !outcome.late) {
    outcome.late = channel_wait(kernel.channel, NULL, 0, 20000, NULL) <= 0;
    take_messages(&kernel, CHANNEL_IOPUB, NULL, &outcome);
  }
  assert_false(outcome.late);
  kill(kernel.pid, SIGINT);
  assert_int_equal(client_nudge(kernel.channel, NULL), 0);
  wait_for_end(&kernel, 10, NULL, &outcome);
  assert_true(client_finished(&outcome.execution));
  assert_true(outcome.execution.failed);
}

static void a_busy_kernel_is_told_apart(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, "import time; time.sleep(1.5)", false, &outcome);
  while (outcome.execution.busy_at_us == 0) {
    assert_true(channel_wait(kernel.channel, NULL, 0, 20000, NULL) > 0);
    take_messages(&kernel, CHANNEL_IOPUB, NULL, &outcome);
  }
  CLEANUP(channel_done) struct channel *second = NULL;
  assert_int_equal(
      channel_open(kernel.context, &kernel.connection, &second, NULL), 0);
  CLEANUP(kernel_info_free) struct kernel_info info = {0};
  struct err err = {0};
  int64_t now = clock_monotonic_ns();
  assert_int_equal(client_prove(second, kernel.pidfd, now + 20 * CLOCK_S,
                                now + CLOCK_S / 2, &info, &err),
                   -1);
  assert_int_equal(err.kind, ERR_BUSY);
  assert_true(clock_monotonic_ns() - now < CLOCK_S);
  wait_for_end(&kernel, 20, NULL, &outcome);
}

static void a_second_client_is_proven_quickly(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    CLEANUP(channel_done) struct channel *second = NULL;
    CLEANUP(kernel_info_free) struct kernel_info info = {0};
    assert_int_equal(
        channel_open(kernel.context, &kernel.connection, &second, NULL), 0);
    assert_int_equal(client_prove(second, kernel.pidfd,
                                  clock_monotonic_ns() + 20 * CLOCK_S, 0, &info,
                                  NULL),
                     0);
    assert_string_equal(info.language, "python");
  }
}

static void a_cached_channel_goes_on_working(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(4);
  struct cached_channel *cached = mem_new(sizeof *cached);
  snprintf(cached->kernel_id, sizeof cached->kernel_id, "kernel-1");
  cached->channel = kernel.channel;
  channel_cache_give(cache, cached);
  assert_null(channel_cache_take(cache, "kernel-2"));
  cached = channel_cache_take(cache, "kernel-1");
  assert_ptr_equal(cached->channel, kernel.channel);
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "'through the cache'", &outcome);
  expect_transcript(&outcome, "[execute_result]'through the cache'\n");
  cached->channel = NULL; /* the fixture closes it */
  channel_cache_give(cache, cached);
  assert_int_equal(count_of(cache), 1);
  channel_cache_free(cache);
}

static void exit_is_a_good_reply_and_then_the_end(void **state) {
  (void)state;
  struct fixture own;
  fixture_start(&own, ipykernel);
  fixture_prove(&own);
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&own, "exit()", &outcome);
  assert_true(outcome.execution.ask_exit);
  assert_false(outcome.execution.failed);
  struct pollfd process = {own.pidfd, POLLIN, 0};
  assert_int_equal(poll(&process, 1, 20000), 1);
  fixture_stop(&own);
}

static void shutdown_ends_it(void **state) {
  (void)state;
  struct fixture own;
  fixture_start(&own, ipykernel);
  fixture_prove(&own);
  assert_int_equal(client_shutdown(own.channel, false, NULL), 0);
  struct pollfd process = {own.pidfd, POLLIN, 0};
  assert_int_equal(poll(&process, 1, 20000), 1);
  fixture_stop(&own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_tells_what_it_is),
      cmocka_unit_test(one_and_one_is_two),
      cmocka_unit_test(an_error_is_kept_beside_the_output),
      cmocka_unit_test(a_cell_behind_an_error_is_not_aborted),
      cmocka_unit_test(input_is_answered),
      cmocka_unit_test(input_at_the_end_is_an_eof),
      cmocka_unit_test(input_without_stdin_is_an_error_at_once),
      cmocka_unit_test(the_pager_speaks_in_the_reply),
      cmocka_unit_test(expressions_are_evaluated),
      cmocka_unit_test(bytes_that_are_no_text_pass),
      cmocka_unit_test(a_slow_reader_loses_nothing),
      cmocka_unit_test(an_await_is_woken_by_a_nudge),
      cmocka_unit_test(a_busy_kernel_is_told_apart),
      cmocka_unit_test(a_second_client_is_proven_quickly),
      cmocka_unit_test(a_cached_channel_goes_on_working),
      cmocka_unit_test(exit_is_a_good_reply_and_then_the_end),
      cmocka_unit_test(shutdown_ends_it),
  };
  return cmocka_run_group_tests(tests, start_kernel, stop_kernel);
}
