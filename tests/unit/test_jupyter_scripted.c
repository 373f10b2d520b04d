/* The client against the scripted kernel: what real kernels do rarely. */
#include <fcntl.h>

#include "core/base/utf8.h"
#include "tests/unit/kernel_fixture.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

static struct fixture kernel;

static void start_as(struct fixture *fixture, const char *behaviour) {
  const char *const argv[] = {"/usr/bin/python3",
                              "tests/kernels/scripted_kernel.py",
                              "-f",
                              "{}",
                              "--start",
                              behaviour,
                              NULL};
  fixture_start(fixture, argv);
}

static int start_kernel(void **state) {
  (void)state;
  start_as(&kernel, "plain");
  fixture_prove(&kernel);
  return 0;
}

static int stop_kernel(void **state) {
  (void)state;
  fixture_stop(&kernel);
  return 0;
}

/* Scenarios that end by themselves, with what must be seen. */
static void every_good_end_is_found(void **state) {
  (void)state;
  static const struct {
    const char *code, *transcript;
    bool failed, counted;
  } cases[] = {
      {"1+1", "[execute_result]2\n", false, true},
      {"scenario: reply-first", "[stream]out\n\n", false, true},
      {"scenario: idle-first", "[stream]out\n\n", false, true},
      {"scenario: output-between", "[stream]between\n\n", false, true},
      {"scenario: no-status", "[stream]out\n\n", false, true},
      {"scenario: no-count", "[stream]out\n\n", false, false},
      {"scenario: bare-reply", "[stream]out\n\n", false, false},
      {"scenario: bare-header", "[stream]out\n\n", false, false},
      {"scenario: twice", "", false, true},
      {"scenario: unknown-types", "[stream]out\n\n", false, true},
      {"scenario: nulls",
       "[display_data]kept\n[display_data]\n[display_data]\n[stream]\n"
       "[error]\n[clear_output]\n[stream]\n[stream]out\n\n",
       false, true},
      {"scenario: extra-keys", "[stream]out\n\n[display_data]d\n[error]Extra\n",
       true, true},
      {"scenario: not-a-number", "[display_data]nan\n", false, true},
      {"scenario: empty-parent", "[~stream]nobody's\n\n[stream]mine\n\n", false,
       true},
      {"scenario: foreign-parent", "[~stream]foreign\n\n[stream]mine\n\n",
       false, true},
      {"scenario: previous-parent",
       "[~stream]late from before\n\n[stream]mine\n\n", false, true},
      {"scenario: buffers", "[stream]out\n\n", false, true},
      {"scenario: many-buffers", "[stream]out\n\n", false, true},
      {"scenario: no-topic", "[stream]out\n\n", false, true},
      {"scenario: new-session", "[stream]out\n\n", false, true},
      {"scenario: clear-now",
       "[stream]first\n\n[clear_output]\n[stream]second\n\n", false, true},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    CLEANUP(outcome_free) struct outcome outcome;
    run_code(&kernel, cases[i].code, &outcome);
    if (!client_finished(&outcome.execution))
      fail_msg("%s: no end", cases[i].code);
    if (strcmp(buf_string(&outcome.transcript), cases[i].transcript) != 0)
      fail_msg("%s: %s", cases[i].code, buf_string(&outcome.transcript));
    if (outcome.execution.failed != cases[i].failed ||
        (outcome.execution.execution_count > 0) != cases[i].counted)
      fail_msg("%s: failed %d, count %d", cases[i].code,
               outcome.execution.failed,
               (int)outcome.execution.execution_count);
  }
}

static void invalid_utf8_arrives_repaired(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: invalid-utf8", &outcome);
  assert_true(client_finished(&outcome.execution));
  assert_true(
      utf8_is_valid(outcome.transcript.data, outcome.transcript.length));
  assert_memory_equal(outcome.transcript.data, "[stream]a\xEF\xBF\xBD b", 14);
}

/* Half of the end arrives; a while later the other half is still missing. */
static void expect_half(const char *code, bool replied) {
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, code, false, &outcome);
  while (!outcome.execution.replied && !outcome.execution.idle) {
    assert_true(channel_wait(kernel.channel, NULL, 0, 20000, NULL) > 0);
    take_messages(&kernel, CHANNEL_SHELL, NULL, &outcome);
    take_messages(&kernel, CHANNEL_IOPUB, NULL, &outcome);
  }
  wait_for_end(&kernel, 0.2, NULL, &outcome);
  assert_true(outcome.late);
  assert_int_equal(outcome.execution.replied, replied);
  assert_int_equal(outcome.execution.idle, !replied);
}

static void an_end_that_is_missing_is_not_invented(void **state) {
  (void)state;
  expect_half("scenario: no-idle", true);
  expect_half("scenario: no-reply", false);
}

static void aborted_is_told(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    CLEANUP(outcome_free) struct outcome outcome;
    run_code(&kernel, "scenario: aborted-once", &outcome);
    assert_true(client_finished(&outcome.execution));
    assert_int_equal(outcome.execution.aborted, i == 0);
    expect_transcript(&outcome, i == 0 ? "" : "[stream]out\n\n");
  }
}

static void forged_and_broken_messages_are_dropped(void **state) {
  (void)state;
  uint64_t before = channel_dropped(kernel.channel);
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: bad-signatures", &outcome);
  expect_transcript(&outcome, "[stream]good\n\n");
  assert_false(outcome.execution.failed);
  assert_int_equal(channel_dropped(kernel.channel) - before, 3);
  before = channel_dropped(kernel.channel);
  CLEANUP(outcome_free) struct outcome broken;
  run_code(&kernel, "scenario: broken-messages", &broken);
  expect_transcript(&broken, "[stream]good\n\n");
  /* Five shapes of frames on both channels, three texts, one with too many
   * identities; of the shapes, good[1:] is a message without a delimiter. */
  assert_int_equal(channel_dropped(kernel.channel) - before, 14);
}

static void eighty_megabytes_arrive_whole(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: huge 80", &outcome);
  assert_true(client_finished(&outcome.execution));
  assert_int_equal(outcome.transcript.length,
                   ((size_t)80 << 20) + strlen("[stream]\n"));
}

static size_t resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Runs a cell and lets go of each message at once. */
static void run_and_forget(const char *code) {
  struct execute_options options = {.store_history = true};
  CLEANUP(execution_free) struct execution execution;
  assert_int_equal(client_execute(kernel.channel, code, strlen(code), &options,
                                  &execution, NULL),
                   0);
  while (!client_finished(&execution)) {
    assert_true(channel_wait(kernel.channel, NULL, 0, 20000, NULL) > 0);
    for (enum channel_name name = 0; name < CHANNEL_HEARTBEAT; name++) {
      CLEANUP(message_free) struct message message = {0};
      if (channel_receive(kernel.channel, name, &message, NULL) == 1)
        client_observe(&execution, name, &message);
    }
  }
}

/* 20 MB lies where malloc keeps what is freed, unless it is told to trim. */
static void memory_of_big_messages_is_given_back(void **state) {
  (void)state;
  if (SANITIZED)
    skip(); /* its allocator has a quarantine of its own */
  size_t before = resident_bytes();
  for (int i = 0; i < 3; i++) {
    run_and_forget("scenario: huge 40");
    run_and_forget("scenario: huge 20");
    run_and_forget("scenario: bulk 20 2");
  }
  size_t after = resident_bytes();
  if (after > before + ((size_t)8 << 20))
    fail_msg("from %zu to %zu bytes", before, after);
}

static unsigned open_descriptors(void) {
  unsigned count = 0;
  for (int descriptor = 0; descriptor < 1024; descriptor++)
    count += fcntl(descriptor, F_GETFD) >= 0;
  return count;
}

static void closed_channels_leave_nothing_open(void **state) {
  (void)state;
  unsigned before = open_descriptors();
  struct channel_context *context = NULL;
  assert_int_equal(channel_context_new(&context, NULL), 0);
  for (int i = 0; i < 50; i++) {
    CLEANUP(channel_done) struct channel *channel = NULL;
    CLEANUP(kernel_info_free) struct kernel_info info = {0};
    assert_int_equal(channel_open(context, &kernel.connection, &channel, NULL),
                     0);
    assert_int_equal(client_prove(channel, kernel.pidfd,
                                  clock_monotonic_ns() + 20 * CLOCK_S, 0, &info,
                                  NULL),
                     0);
  }
  channel_context_free(context);
  assert_int_equal(open_descriptors(), before);
}

static void an_endpoint_that_cannot_be_is_told(void **state) {
  (void)state;
  struct connection connection = kernel.connection;
  strcpy(connection.endpoints[CHANNEL_CONTROL], "tcp://not an address:1");
  struct channel *channel = NULL;
  struct err err = {0};
  assert_int_equal(channel_open(kernel.context, &connection, &channel, &err),
                   -1);
  assert_non_null(strstr(err.text, "not an address"));
  assert_null(channel);
}

static void a_flood_arrives_whole_and_in_order(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: flood 20000 50", &outcome);
  assert_true(client_finished(&outcome.execution));
  const char *at = buf_string(&outcome.transcript);
  for (int i = 0; i < 20000; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "[stream]%d .", i);
    if (strncmp(at, expected, strlen(expected)) != 0)
      fail_msg("message %d is \"%.40s\"", i, at);
    at = strchr(at, '\n') + 2;
  }
}

static void an_unknown_comm_can_be_closed(void **state) {
  (void)state;
  struct execute_options options = {.store_history = true};
  CLEANUP(execution_free) struct execution execution;
  assert_int_equal(client_execute(kernel.channel, "scenario: comm-open", 19,
                                  &options, &execution, NULL),
                   0);
  bool closed = false;
  while (!closed) {
    assert_true(channel_wait(kernel.channel, NULL, 0, 20000, NULL) > 0);
    CLEANUP(message_free) struct message message = {0};
    if (channel_receive(kernel.channel, CHANNEL_IOPUB, &message, NULL) == 1 &&
        strcmp(message.type, "comm_open") == 0) {
      assert_int_equal(client_observe(&execution, CHANNEL_IOPUB, &message),
                       CLIENT_OUTPUT);
      assert_int_equal(client_close_comm(kernel.channel, &message, NULL), 0);
      closed = true;
    }
  }
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: comms-closed", &outcome);
  expect_transcript(&outcome, "[stream]1\n\n");
}

static void input_without_a_parent_is_answered(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, "scenario: ask-input no", true, &outcome);
  wait_for_end(&kernel, 20, "yes", &outcome);
  expect_transcript(&outcome, "[input_request]? \n[stream]got 'yes'\n\n");
}

static void late_output_belongs_to_its_cell(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&kernel, "scenario: late 0.05", &outcome);
  expect_transcript(&outcome, "[stream]on time\n\n");
  assert_true(channel_wait(kernel.channel, NULL, 0, 20000, NULL) > 0);
  take_messages(&kernel, CHANNEL_IOPUB, NULL, &outcome);
  expect_transcript(&outcome, "[stream]on time\n\n[stream]late\n\n");
}

static void a_watch_is_seen_during_a_flood(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "x", 1), 1);
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&kernel, "scenario: flood 100 10", false, &outcome);
  struct channel_watch watches[] = {{-1, POLLIN, 0}, {ends[0], POLLIN, 0}};
  while (channel_wait(kernel.channel, watches, 2, 20000, NULL) == 0)
    assert_int_equal(watches[1].revents, POLLIN);
  assert_int_equal(watches[0].revents, 0);
  assert_int_equal(watches[1].revents, POLLIN);
  wait_for_end(&kernel, 20, NULL, &outcome);
  close(ends[0]);
  watches[1] = (struct channel_watch){ends[1], POLLRDHUP, 0};
  assert_int_equal(channel_wait(kernel.channel, watches, 2, 20000, NULL), 0);
  assert_true((watches[1].revents & POLLERR) != 0);
  close(ends[1]);
  assert_int_equal(channel_wait(kernel.channel, NULL, 0, 10, NULL), 0);
}

static void a_kernel_interrupted_by_message_ends_its_cell(void **state) {
  (void)state;
  struct fixture own;
  start_as(&own, "message");
  fixture_prove(&own);
  CLEANUP(outcome_free) struct outcome outcome;
  begin_code(&own, "scenario: busy", false, &outcome);
  while (outcome.execution.input_at_us == 0) {
    assert_true(channel_wait(own.channel, NULL, 0, 20000, NULL) > 0);
    take_messages(&own, CHANNEL_IOPUB, NULL, &outcome);
  }
  assert_int_equal(client_interrupt(own.channel, NULL), 0);
  wait_for_end(&own, 20, NULL, &outcome);
  assert_true(client_finished(&outcome.execution));
  assert_string_equal(json_get_text(outcome.execution.error, "ename"),
                      "KeyboardInterrupt");
  fixture_stop(&own);
}

/* What the kernel had sent before it died is read, also though its end is
 * known first; afterwards nothing is queued for a successor. */
static void death_in_the_middle_loses_no_output(void **state) {
  (void)state;
  static const char *const codes[] = {"scenario: die 7",
                                      "scenario: die SIGKILL"};
  for (size_t i = 0; i < COUNT_OF(codes); i++) {
    struct fixture own;
    start_as(&own, "plain");
    fixture_prove(&own);
    CLEANUP(outcome_free) struct outcome outcome;
    begin_code(&own, codes[i], false, &outcome);
    struct pollfd process = {own.pidfd, POLLIN, 0};
    assert_int_equal(poll(&process, 1, 20000), 1);
    wait_for_end(&own, 20, NULL, &outcome);
    assert_true(outcome.died);
    assert_false(outcome.execution.replied);
    expect_transcript(&outcome, "[stream]last words\n\n");
    struct err err = {0};
    int64_t deadline = clock_monotonic_ns() + 20 * CLOCK_S;
    while (client_nudge(own.channel, &err) == 0) /* libzmq has yet to see it */
      assert_true(clock_monotonic_ns() < deadline);
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    fixture_stop(&own);
  }
}

/* The trap of a request that waits in an old socket: it must not be run by the
 * kernel that takes the place of the dead one. */
static void a_successor_gets_no_old_request(void **state) {
  (void)state;
  struct fixture own;
  start_as(&own, "plain");
  fixture_prove(&own);
  kill(own.pid, SIGKILL);
  struct pollfd process = {own.pidfd, POLLIN, 0};
  assert_int_equal(poll(&process, 1, 20000), 1);
  while (channel_wait_connected(own.channel, CHANNEL_SHELL, NULL, 0, 0, NULL) ==
         1)
    channel_wait(own.channel, NULL, 0, 1, NULL); /* until libzmq has noticed */
  struct execute_options options = {.store_history = true};
  struct execution execution;
  struct err err = {0};
  assert_int_equal(
      client_execute(own.channel, "1+1", 3, &options, &execution, &err), -1);
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  waitpid(own.pid, NULL, 0);
  close(own.pidfd);
  const char *const argv[] = {
      "/usr/bin/python3", "tests/kernels/scripted_kernel.py", "-f", "{}", NULL};
  fixture_spawn(&own, argv);
  fixture_prove(&own);
  CLEANUP(outcome_free) struct outcome outcome;
  run_code(&own, "1+1", &outcome);
  assert_int_equal(outcome.execution.execution_count, 1);
  fixture_stop(&own);
}

static void readiness_is_proven_for_odd_kernels(void **state) {
  (void)state;
  static const char *const starts[] = {"no-idle",   "chatter", "late",
                                       "bare-info", "silent",  "staggered"};
  for (size_t i = 0; i < COUNT_OF(starts); i++) {
    struct fixture own;
    start_as(&own, starts[i]);
    fixture_prove(&own);
    assert_int_equal(client_interrupt(own.channel, NULL), 0);
    bool bare = strcmp(starts[i], "bare-info") == 0;
    assert_string_equal(own.info.language, bare ? "" : "python");
    CLEANUP(outcome_free) struct outcome outcome;
    run_code(&own, "print('first')", &outcome);
    assert_non_null(strstr(buf_string(&outcome.transcript), "[stream]first\n"));
    fixture_stop(&own);
  }
}

static void expect_no_proof(const char *start, double seconds,
                            double busy_after, enum err_kind kind) {
  struct fixture own;
  start_as(&own, start);
  struct err err = {0};
  int64_t now = clock_monotonic_ns();
  int64_t busy_at =
      busy_after == 0 ? 0 : now + (int64_t)(busy_after * (double)CLOCK_S);
  struct kernel_info info = {.language = "untouched"};
  assert_int_equal(client_prove(own.channel, own.pidfd,
                                now + (int64_t)(seconds * (double)CLOCK_S),
                                busy_at, &info, &err),
                   -1);
  assert_int_equal(err.kind, kind);
  assert_string_equal(info.language, "untouched");
  fixture_stop(&own);
}

static void a_kernel_that_never_comes_is_given_up(void **state) {
  (void)state;
  expect_no_proof("hang", 0.3, 0, ERR_TIMEOUT);
  expect_no_proof("deaf", 1.5, 0.2, ERR_TIMEOUT);
  expect_no_proof("exit", 20, 0, ERR_UNAVAILABLE);
  expect_no_proof("shell-busy", 20, 1, ERR_BUSY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_good_end_is_found),
      cmocka_unit_test(invalid_utf8_arrives_repaired),
      cmocka_unit_test(an_end_that_is_missing_is_not_invented),
      cmocka_unit_test(aborted_is_told),
      cmocka_unit_test(forged_and_broken_messages_are_dropped),
      cmocka_unit_test(eighty_megabytes_arrive_whole),
      cmocka_unit_test(memory_of_big_messages_is_given_back),
      cmocka_unit_test(closed_channels_leave_nothing_open),
      cmocka_unit_test(an_endpoint_that_cannot_be_is_told),
      cmocka_unit_test(a_flood_arrives_whole_and_in_order),
      cmocka_unit_test(an_unknown_comm_can_be_closed),
      cmocka_unit_test(input_without_a_parent_is_answered),
      cmocka_unit_test(late_output_belongs_to_its_cell),
      cmocka_unit_test(a_watch_is_seen_during_a_flood),
      cmocka_unit_test(a_kernel_interrupted_by_message_ends_its_cell),
      cmocka_unit_test(death_in_the_middle_loses_no_output),
      cmocka_unit_test(a_successor_gets_no_old_request),
      cmocka_unit_test(readiness_is_proven_for_odd_kernels),
      cmocka_unit_test(a_kernel_that_never_comes_is_given_up),
  };
  return cmocka_run_group_tests(tests, start_kernel, stop_kernel);
}
