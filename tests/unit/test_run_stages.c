/* The pure parts of a run's stages: what an outcome means, the words of a run
 * that was not carried out, the lines that IPython drops, the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/report/traceback/stack.h"
#include "core/run/answer.h"
#include "core/run/collect/artifacts.h"
#include "core/run/collect/outcome.h"
#include "core/run/failure.h"

static struct json *parse(const char *text) {
  struct err err = {0};
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_REQUEST, &value, &err), 0);
  return value;
}

/* {reply status "error", an error among the outputs, idle, replied} → status */
static void an_error_counts_wherever_it_is_told(void **state) {
  (void)state;
  static const struct {
    bool replied, idle, failed, raised;
    enum run_status status;
  } rows[] = {
      {true, true, false, false, RUN_OK},
      {true, true, true, true, RUN_ERROR},
      {true, true, true, false, RUN_ERROR},
      {true, true, false, true, RUN_ERROR}, /* %%time over 1/0 */
      {false, true, false, true, RUN_ERROR},
      {false, true, false, false, RUN_ERROR}, /* nothing at all was seen */
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(outcome_free) struct outcome outcome = {.verdict = RUN_OK};
    outcome.execution.replied = rows[i].replied;
    outcome.execution.idle = rows[i].idle;
    outcome.execution.failed = rows[i].failed;
    if (rows[i].raised)
      outcome.raised = parse("{\"ename\":\"E\",\"evalue\":\"\"}");
    assert_int_equal(outcome_status(&outcome), rows[i].status);
  }
}

static void text_on_stderr_is_no_error(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome = {.verdict = RUN_OK};
  outcome.execution.idle = true;
  outcome.outputs = parse("[{\"output_type\":\"stream\",\"name\":\"stderr\","
                          "\"text\":\"ZeroDivisionError: no\"}]");
  assert_int_equal(outcome_status(&outcome), RUN_OK);
}

static void the_end_of_the_kernel_counts_more_than_the_verdict(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome = {.verdict = RUN_OK};
  outcome.died = true;
  assert_int_equal(outcome_status(&outcome), RUN_KERNEL_DIED);
  outcome.verdict = RUN_TIMEOUT;
  assert_int_equal(outcome_status(&outcome), RUN_TIMEOUT);
  outcome.end.end = KERNEL_END_OOM;
  assert_int_equal(outcome_status(&outcome), RUN_OOM);
}

static void exit_is_no_death(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome = {.verdict = RUN_OK};
  outcome.died = true;
  outcome.execution.replied = outcome.execution.idle = true;
  outcome.execution.ask_exit = true;
  assert_int_equal(outcome_status(&outcome), RUN_OK);
}

static void
the_error_is_that_of_the_outputs_before_that_of_the_reply(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome = {.verdict = RUN_OK};
  assert_null(outcome_kernel_error(&outcome));
  outcome.execution.failed = true;
  outcome.execution.error = parse("{\"ename\":\"Reply\"}");
  assert_string_equal(json_get_text(outcome_kernel_error(&outcome), "ename"),
                      "Reply");
  outcome.raised = parse("{\"ename\":\"Output\"}");
  assert_string_equal(json_get_text(outcome_kernel_error(&outcome), "ename"),
                      "Output");
}

static void blank_lines_in_front_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *code;
    int64_t lines;
  } rows[] = {
      {"", 0}, {"1/0", 0}, {"\n1/0", 1}, {" \t\n\r\n  x\n", 2}, {"x\n\n", 0},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    assert_int_equal(stack_leading_lines(rows[i].code, strlen(rows[i].code)),
                     rows[i].lines);
}

static void a_failure_has_words_for_people_and_models(void **state) {
  (void)state;
  CLEANUP(run_record_free) struct run_record record = {0};
  record.status = RUN_NOT_RUN;
  failure_describe(&record, "no kernel: it is Monday", "last words", 1000);
  assert_string_equal(json_get_text(record.error, "ename"), "NotRun");
  assert_string_equal(json_get_text(record.error, "evalue"),
                      "no kernel: it is Monday");
  assert_string_equal(json_get_text(record.error, "stderr"), "last words");
  assert_non_null(strstr(record.text, "it is Monday"));
  assert_non_null(
      strstr(json_get_text(record.error, "prompt"), "it is Monday"));
  record.status = RUN_CANCELLED;
  failure_describe(&record, "cancelled while it was queued", NULL, 1000);
  assert_string_equal(json_get_text(record.error, "ename"), "Cancelled");
  assert_null(json_get(record.error, "stderr"));
}

static void an_answer_has_both_streams_and_the_last_result(void **state) {
  (void)state;
  struct run_record record = {.id = (char *)"r",
                              .task = (char *)"t",
                              .status = RUN_OK,
                              .queued_at = 1000000,
                              .started_at = 1500000,
                              .ended_at = 4000000,
                              .execution_count = 7,
                              .cpu_ms = -1,
                              .memory_peak_bytes = -1,
                              .output_bytes = 3};
  CLEANUP(json_done)
  struct json *outputs = parse(
      "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"a\"},"
      "{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"b\"},"
      "{\"output_type\":\"execute_result\",\"data\":{\"text/plain\":\"1\"}},"
      "{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"c\"}]");
  CLEANUP(json_done) struct json *answer = answer_build(&record, outputs, 0);
  assert_string_equal(json_get_text(answer, "stdout"), "ac");
  assert_string_equal(json_get_text(answer, "stderr"), "b");
  assert_string_equal(json_get_text(json_get(answer, "result"), "text/plain"),
                      "1");
  const struct json *usage = json_get(answer, "usage");
  assert_int_equal(json_get_integer(usage, "queue_ms", -1), 500);
  assert_int_equal(json_get_integer(usage, "wall_ms", -1), 2500);
  assert_null(json_get(usage, "cpu_ms"));
}

/* As after a jump of the wall clock by an hour, either way. */
static void a_run_measures_by_a_clock_that_does_not_jump(void **state) {
  (void)state;
  for (int64_t hour = -3600; hour <= 3600; hour += 7200) {
    struct run_record record = {0};
    run_record_accept(&record);
    record.queued_at += hour * 1000000;
    int64_t passed = run_record_now(&record) - record.queued_at;
    assert_in_range(passed, 0, 10 * 1000000);
  }
  struct run_record stored = {.queued_at = 1};
  assert_true(run_record_now(&stored) > 1000000);
}

static void references_lead_back_or_say_what_is_missing(void **state) {
  (void)state;
  struct media media = {.mime = "image/png", .output = 0};
  memset(media.name, 'a', 64);
  memcpy(media.name + 64, ".png", 5);
  CLEANUP(json_done)
  struct json *outputs = parse("[{\"output_type\":\"display_data\",\"data\":"
                               "{\"image/png\":\"QUJD\",\"application/json\":"
                               "{\"artifact\":\"mine\"}}}]");
  CLEANUP(json_done) struct json *stored = artifacts_refer(outputs, &media, 1);
  const struct json *data = json_get(json_at(stored, 0), "data");
  assert_string_equal(json_get_text(json_get(data, "image/png"), "artifact"),
                      media.name);
  CLEANUP(json_done) struct json *resolved = artifacts_resolve(-1, stored);
  data = json_get(json_at(resolved, 0), "data");
  assert_false(json_has(data, "image/png"));
  assert_string_equal(json_get_text(data, "text/plain"),
                      "[the artifact was removed]");
  assert_string_equal(
      json_get_text(json_get(data, "application/json"), "artifact"), "mine");
}

static void what_the_log_refused_comes_again(void **state) {
  (void)state;
  CLEANUP(trail_done) struct trail trail = {0};
  CLEANUP(json_done)
  struct json *one = parse("{\"name\":\"stdout\",\"text\":\"a\"}");
  CLEANUP(json_done)
  struct json *two = parse("{\"name\":\"stdout\",\"text\":\"b\"}");
  struct event_record *events = NULL;
  trail_begin(&trail, 1);
  trail_add(&trail, "stream", one, 1);
  size_t count = trail_take(&trail, (char *)"t", (char *)"r", 2, &events);
  assert_int_equal(count, 1);
  trail_put_back(&trail, events, count, 77);
  trail_events_free(events, count);
  assert_int_equal(trail.flush_at, 77);
  assert_int_equal(trail.recorded, 0);
  trail_add(&trail, "stream", two, 3);
  count = trail_take(&trail, (char *)"t", (char *)"r", 4, &events);
  assert_int_equal(count, 2);
  for (size_t i = 0; i < count; i++) {
    const struct json *messages = json_get(events[i].content, "messages");
    assert_string_equal(
        json_get_text(json_get(json_at(messages, 0), "content"), "text"),
        i == 0 ? "a" : "b");
    assert_int_equal(json_get_integer(events[i].content, "end", 0), i + 1);
  }
  trail_events_free(events, count);
  trail_note_recorded(&trail);
  assert_int_equal(trail.recorded, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_error_counts_wherever_it_is_told),
      cmocka_unit_test(text_on_stderr_is_no_error),
      cmocka_unit_test(the_end_of_the_kernel_counts_more_than_the_verdict),
      cmocka_unit_test(exit_is_no_death),
      cmocka_unit_test(
          the_error_is_that_of_the_outputs_before_that_of_the_reply),
      cmocka_unit_test(blank_lines_in_front_are_counted),
      cmocka_unit_test(a_failure_has_words_for_people_and_models),
      cmocka_unit_test(an_answer_has_both_streams_and_the_last_result),
      cmocka_unit_test(a_run_measures_by_a_clock_that_does_not_jump),
      cmocka_unit_test(what_the_log_refused_comes_again),
      cmocka_unit_test(references_lead_back_or_say_what_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
