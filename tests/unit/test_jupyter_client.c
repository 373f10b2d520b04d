/* client_observe: what a message means for the execution under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/jupyter/client.h"

#define OURS "session_7"

static struct execution begun(void) {
  return (struct execution){.id = OURS, .execution_count = -1};
}

static struct json *parsed(const char *text) {
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &value, NULL), 0);
  return value;
}

/* A message as wire_decode gives it. */
static enum client_event observe(struct execution *execution,
                                 enum channel_name from, const char *type,
                                 const char *parent_id, const char *content) {
  CLEANUP(message_free)
  struct message message = {
      .type = type,
      .id = "theirs_1",
      .parent_id = parent_id,
      .session = "theirs",
      .header = json_object(),
      .parent = json_object(),
      .metadata = json_object(),
      .content = parsed(content),
  };
  return client_observe(execution, from, &message);
}

static enum client_event iopub(struct execution *execution, const char *type,
                               const char *content) {
  return observe(execution, CHANNEL_IOPUB, type, OURS, content);
}

static enum client_event reply(struct execution *execution,
                               const char *content) {
  return observe(execution, CHANNEL_SHELL, "execute_reply", OURS, content);
}

static void reply_then_idle_ends_it(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  int64_t wall = clock_wall_us(), monotonic = clock_monotonic_ns();
  assert_int_equal(
      iopub(&execution, "status", "{\"execution_state\":\"busy\"}"),
      CLIENT_NOTHING);
  assert_true(execution.busy_at_us >= wall);
  assert_int_equal(
      iopub(&execution, "execute_input", "{\"execution_count\":3}"),
      CLIENT_NOTHING);
  assert_int_equal(
      reply(&execution, "{\"status\":\"ok\",\"execution_count\":3}"),
      CLIENT_NOTHING);
  assert_true(execution.replied);
  assert_true(execution.replied_at_ns >= monotonic);
  assert_false(client_finished(&execution));
  assert_int_equal(
      iopub(&execution, "status", "{\"execution_state\":\"idle\"}"),
      CLIENT_NOTHING);
  assert_true(client_finished(&execution));
  assert_false(execution.failed);
  assert_false(execution.aborted);
  assert_int_equal(execution.execution_count, 3);
  assert_true(execution.input_at_us >= wall && execution.idle_at_us >= wall &&
              execution.reply_at_us >= wall);
}

static void idle_then_reply_ends_it_too(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  iopub(&execution, "status", "{\"execution_state\":\"idle\"}");
  assert_false(client_finished(&execution));
  reply(&execution, "{\"status\":\"ok\"}");
  assert_true(client_finished(&execution));
}

static void other_states_and_other_parents_do_not_end_it(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  static const char *const parents[] = {"", "session_6", "session_70"};
  for (size_t i = 0; i < COUNT_OF(parents); i++) {
    assert_int_equal(observe(&execution, CHANNEL_IOPUB, "status", parents[i],
                             "{\"execution_state\":\"idle\"}"),
                     CLIENT_NOTHING);
    assert_int_equal(observe(&execution, CHANNEL_SHELL, "execute_reply",
                             parents[i], "{\"status\":\"error\"}"),
                     CLIENT_NOTHING);
    observe(&execution, CHANNEL_IOPUB, "execute_input", parents[i],
            "{\"execution_count\":9}");
  }
  iopub(&execution, "status", "{\"execution_state\":\"starting\"}");
  iopub(&execution, "status", "{\"execution_state\":null}");
  iopub(&execution, "status", "{}");
  observe(&execution, CHANNEL_SHELL, "kernel_info_reply", OURS, "{}");
  observe(&execution, CHANNEL_CONTROL, "execute_reply", OURS, "{}");
  assert_false(execution.replied);
  assert_false(execution.idle);
  assert_false(execution.failed);
  assert_int_equal(execution.execution_count, -1);
}

static void output_is_told_apart_by_its_parent(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  static const char *const outputs[] = {
      "stream",    "display_data", "execute_result",
      "error",     "clear_output", "update_display_data",
      "comm_open", "comm_msg",     "comm_close"};
  for (size_t i = 0; i < COUNT_OF(outputs); i++) {
    assert_int_equal(iopub(&execution, outputs[i], "{}"), CLIENT_OUTPUT);
    assert_int_equal(
        observe(&execution, CHANNEL_IOPUB, outputs[i], "other", "{}"),
        CLIENT_FOREIGN);
    assert_int_equal(observe(&execution, CHANNEL_IOPUB, outputs[i], "", "{}"),
                     CLIENT_FOREIGN);
    assert_int_equal(observe(&execution, CHANNEL_SHELL, outputs[i], OURS, "{}"),
                     CLIENT_NOTHING);
  }
  static const char *const others[] = {"debug_event", "iopub_welcome",
                                       "shutdown_reply", "never_heard_of"};
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_int_equal(iopub(&execution, others[i], "{}"), CLIENT_NOTHING);
  assert_false(client_finished(&execution));
}

static void output_after_the_end_is_still_ours(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  iopub(&execution, "status", "{\"execution_state\":\"idle\"}");
  reply(&execution, "{\"status\":\"ok\"}");
  assert_int_equal(iopub(&execution, "stream", "{}"), CLIENT_OUTPUT);
}

static void an_error_keeps_what_the_protocol_knows(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  reply(&execution, "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"v\","
                    "\"traceback\":[\"a\",null,\"b\"],\"execution_count\":2,"
                    "\"engine_info\":{},\"payload\":[]}");
  CLEANUP(json_done)
  struct json *expected =
      parsed("{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}");
  assert_true(execution.failed);
  assert_true(json_equal(execution.error, expected));
  assert_int_equal(execution.execution_count, 2);
}

static void an_error_may_be_bare(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  reply(&execution, "{\"status\":\"error\",\"ename\":null,\"traceback\":{}}");
  CLEANUP(json_done)
  struct json *expected =
      parsed("{\"ename\":\"\",\"evalue\":\"\",\"traceback\":[]}");
  assert_true(json_equal(execution.error, expected));
}

static void a_reply_may_lack_its_status(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution good = begun();
  reply(&good, "{}");
  assert_true(good.replied);
  assert_false(good.failed);
  assert_int_equal(good.execution_count, -1);
  CLEANUP(execution_free) struct execution bad = begun();
  reply(&bad, "{\"ename\":\"E\"}");
  assert_true(bad.failed);
  assert_string_equal(json_get_text(bad.error, "ename"), "E");
}

static void an_aborted_reply_says_so(void **state) {
  (void)state;
  static const char *const words[] = {"aborted", "abort"};
  for (size_t i = 0; i < COUNT_OF(words); i++) {
    CLEANUP(execution_free) struct execution execution = begun();
    CLEANUP(mem_free_pointer)
    char *content =
        mem_format("{\"status\":\"%s\",\"execution_count\":4}", words[i]);
    reply(&execution, content);
    assert_true(execution.aborted);
    assert_false(execution.failed);
    assert_true(execution.replied);
    assert_int_equal(execution.execution_count, -1);
  }
}

/* The reply of a cell that stores no history gives the count of the one
 * before. */
static void the_count_of_the_input_wins(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  iopub(&execution, "execute_input", "{\"execution_count\":5}");
  reply(&execution, "{\"status\":\"ok\",\"execution_count\":4}");
  assert_int_equal(execution.execution_count, 5);
  CLEANUP(execution_free) struct execution reversed = begun();
  reply(&reversed, "{\"status\":\"ok\",\"execution_count\":4}");
  iopub(&reversed, "execute_input", "{\"execution_count\":5}");
  assert_int_equal(reversed.execution_count, 5);
  CLEANUP(execution_free) struct execution without = begun();
  iopub(&without, "execute_input", "{\"execution_count\":null}");
  assert_int_equal(without.execution_count, -1);
}

static void payloads_are_read(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  reply(&execution,
        "{\"status\":\"ok\",\"payload\":[null,3,{\"source\":7},"
        "{\"source\":\"page\",\"start\":0,\"data\":{\"text/plain\":\"old\"}},"
        "{\"source\":\"page\",\"start\":0,\"data\":{\"text/plain\":\"help\"}},"
        "{\"source\":\"page\",\"data\":null},"
        "{\"source\":\"set_next_input\",\"text\":\"x\"},"
        "{\"source\":\"ask_exit\",\"keepkernel\":false}],"
        "\"user_expressions\":{\"a\":{\"status\":\"ok\"}}}");
  assert_true(execution.ask_exit);
  assert_string_equal(json_get_text(execution.page, "text/plain"), "help");
  assert_true(json_has(execution.user_expressions, "a"));
  CLEANUP(execution_free) struct execution without = begun();
  reply(&without, "{\"status\":\"ok\",\"payload\":null,"
                  "\"user_expressions\":null}");
  assert_false(without.ask_exit);
  assert_null(without.page);
  assert_null(without.user_expressions);
}

static void a_reply_that_comes_twice_leaks_nothing(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  for (int i = 0; i < 2; i++)
    reply(&execution,
          "{\"status\":\"error\",\"ename\":\"E\",\"user_expressions\":{},"
          "\"payload\":[{\"source\":\"page\",\"data\":{}}]}");
  assert_true(execution.failed);
}

static void input_is_asked_on_stdin_by_our_own_cell(void **state) {
  (void)state;
  CLEANUP(execution_free) struct execution execution = begun();
  static const struct {
    const char *type, *parent_id;
    enum channel_name from;
    enum client_event event;
  } cases[] = {
      {"input_request", OURS, CHANNEL_STDIN, CLIENT_INPUT},
      {"input_request", "", CHANNEL_STDIN, CLIENT_INPUT},
      {"input_request", "other", CHANNEL_STDIN, CLIENT_NOTHING},
      {"input_request", OURS, CHANNEL_IOPUB, CLIENT_NOTHING},
      {"other", OURS, CHANNEL_STDIN, CLIENT_NOTHING},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(observe(&execution, cases[i].from, cases[i].type,
                             cases[i].parent_id, "{\"prompt\":\"? \"}"),
                     cases[i].event);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reply_then_idle_ends_it),
      cmocka_unit_test(idle_then_reply_ends_it_too),
      cmocka_unit_test(other_states_and_other_parents_do_not_end_it),
      cmocka_unit_test(output_is_told_apart_by_its_parent),
      cmocka_unit_test(output_after_the_end_is_still_ours),
      cmocka_unit_test(an_error_keeps_what_the_protocol_knows),
      cmocka_unit_test(an_error_may_be_bare),
      cmocka_unit_test(a_reply_may_lack_its_status),
      cmocka_unit_test(an_aborted_reply_says_so),
      cmocka_unit_test(the_count_of_the_input_wins),
      cmocka_unit_test(payloads_are_read),
      cmocka_unit_test(a_reply_that_comes_twice_leaks_nothing),
      cmocka_unit_test(input_is_asked_on_stdin_by_our_own_cell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
