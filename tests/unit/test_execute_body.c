/* Bodies of execute requests: what is taken, and how faults are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/handlers/execute_body.h"

struct outcome {
  int result;
  struct err err;
  struct json *document, *details;
  struct execute_body body;
};

static void read_body(const char *text, size_t length,
                      struct outcome *outcome) {
  *outcome = (struct outcome){.result = -1};
  if (fields_parse(text, length, &outcome->document, &outcome->err) == 0)
    outcome->result = execute_body_read(outcome->document, 3600, &outcome->body,
                                        &outcome->details, &outcome->err);
}

static void outcome_free(struct outcome *outcome) {
  json_free(outcome->document);
  json_free(outcome->details);
}

static void everything_asked_arrives(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  const char *text =
      "{\"code\":\"1+2\",\"timeout\":2.5,\"section\":\"A\",\"images\":"
      "\"link\",\"stdin\":[\"a\",\"\"],\"silent\":true,\"tags\":[\"t\"],"
      "\"wait\":false,\"text_limit\":7,\"output_bytes\":8,\"outputs\":9,"
      "\"image_bytes\":10,\"traceback\":\"minimal\"}";
  read_body(text, strlen(text), &outcome);
  assert_int_equal(outcome.result, 0);
  struct run_request request = outcome.body.run;
  assert_int_equal(request.code_length, 3);
  assert_memory_equal(request.code, "1+2", 3);
  assert_true(request.timeout > 2.49 && request.timeout < 2.51);
  assert_string_equal(request.section, "A");
  assert_true(request.images_linked);
  assert_int_equal(json_length(request.stdin_lines), 2);
  assert_true(request.silent);
  assert_int_equal(json_length(request.tags), 1);
  assert_int_equal(request.text_limit, 7);
  assert_int_equal(request.output_bytes, 8);
  assert_int_equal(request.outputs, 9);
  assert_int_equal(request.image_bytes, 10);
  assert_int_equal(request.traceback, TRACEBACK_MINIMAL);
  assert_false(outcome.body.wait);
}

static void defaults_stand_for_what_is_left_out(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  read_body("{\"code\":\"\"}", 11, &outcome);
  assert_int_equal(outcome.result, 0);
  assert_true(outcome.body.wait);
  assert_true(outcome.body.run.timeout < 0);
  assert_null(outcome.body.run.stdin_lines);
  assert_int_equal(outcome.body.traceback, TRACEBACK_CONTEXT);
  assert_int_equal(outcome.body.run.text_limit, 0);
}

/* Each faulty body, its kind, the field that is named and a word of the text.
 */
static const struct {
  const char *body;
  enum err_kind kind;
  const char *field, *word;
} faults[] = {
    {"", ERR_INVALID, NULL, "empty"},
    {"{", ERR_INVALID, NULL, "JSON"},
    {"{\"code\":\"1\"", ERR_INVALID, NULL, "JSON"},
    {"{\"code\":\"1\"} x", ERR_INVALID, NULL, "JSON"},
    {"{'code':'1'}", ERR_INVALID, NULL, "JSON"},
    {"{\"code\":\"\xff\"}", ERR_INVALID, NULL, "JSON"},
    {"{\"code\":\"1\",\"code\":\"2\"}", ERR_INVALID, NULL, "JSON"},
    {"[]", ERR_INVALID, NULL, "object"},
    {"\"code\"", ERR_INVALID, NULL, "object"},
    {"null", ERR_INVALID, NULL, "object"},
    {"{}", ERR_FIELD, "code", "missing"},
    {"{\"timeout\":1}", ERR_FIELD, "code", "missing"},
    {"{\"code\":1}", ERR_FIELD, "code", "string"},
    {"{\"code\":null}", ERR_FIELD, "code", "string"},
    {"{\"code\":[\"1\"]}", ERR_FIELD, "code", "string"},
    {"{\"code\":\"1\",\"tiemout\":3}", ERR_FIELD, "tiemout",
     "mean \"timeout\""},
    {"{\"code\":\"1\",\"Code\":3}", ERR_FIELD, "Code", "mean \"code\""},
    {"{\"code\":\"1\",\"\":3}", ERR_FIELD, "", "unknown"},
    {"{\"code\":\"1\",\"something\":3}", ERR_FIELD, "something", "unknown"},
    {"{\"code\":\"1\",\"timeout\":\"3\"}", ERR_FIELD, "timeout", "number"},
    {"{\"code\":\"1\",\"timeout\":0}", ERR_FIELD, "timeout",
     "a number over 0, at most 3600"},
    {"{\"code\":\"1\",\"timeout\":3600.5}", ERR_FIELD, "timeout",
     "a number over 0, at most 3600"},
    {"{\"code\":\"1\",\"timeout\":-1}", ERR_FIELD, "timeout", "number"},
    {"{\"code\":\"1\",\"timeout\":1e999}", ERR_FIELD, "timeout", "number"},
    {"{\"code\":\"1\",\"timeout\":null}", ERR_FIELD, "timeout", "number"},
    {"{\"code\":\"1\",\"section\":\"\"}", ERR_FIELD, "section", "one line"},
    {"{\"code\":\"1\",\"section\":\"a\\nb\"}", ERR_FIELD, "section",
     "one line"},
    {"{\"code\":\"1\",\"section\":\"a\\u0085b\"}", ERR_FIELD, "section",
     "control"},
    {"{\"code\":\"1\",\"section\":\"a\\u001bb\"}", ERR_FIELD, "section",
     "control"},
    {"{\"code\":\"1\",\"section\":\"a\\u2029b\"}", ERR_FIELD, "section",
     "one line"},
    {"{\"code\":\"1\",\"section\":\"a\\u2066b\"}", ERR_FIELD, "section",
     "direction"},
    {"{\"code\":\"1\",\"section\":\"\\u3000\\u200b\\ufeff\"}", ERR_FIELD,
     "section", "white space"},
    {"{\"code\":\"1\",\"section\":\"\\ud83d\\ude00\\u202a\"}", ERR_FIELD,
     "section", "direction"},
    {"{\"code\":\"1\",\"section\":\"a\\u0000b\"}", ERR_FIELD, "section",
     "one line"},
    {"{\"code\":\"x\\n\u00e9=\\u0000\"}", ERR_FIELD, "code",
     "NUL characters; one stands in line 2, column 3 (byte 6)"},
    {"{\"code\":\"1\",\"images\":\"none\"}", ERR_FIELD, "images", "\"link\""},
    {"{\"code\":\"1\",\"stdin\":\"a\"}", ERR_FIELD, "stdin", "array"},
    {"{\"code\":\"1\",\"stdin\":[1]}", ERR_FIELD, "stdin", "strings"},
    {"{\"code\":\"1\",\"silent\":1}", ERR_FIELD, "silent", "true or false"},
    {"{\"code\":\"1\",\"tags\":[\"\"]}", ERR_FIELD, "tags", "tags"},
    {"{\"code\":\"1\",\"tags\":[\"a,b\"]}", ERR_FIELD, "tags", "tags"},
    {"{\"code\":\"1\",\"tags\":[\"a\",\"a\"]}", ERR_FIELD, "tags", "tags"},
    {"{\"code\":\"1\",\"wait\":\"no\"}", ERR_FIELD, "wait", "true or false"},
    {"{\"code\":\"1\",\"text_limit\":1.5}", ERR_FIELD, "text_limit", "whole"},
    {"{\"code\":\"1\",\"text_limit\":0}", ERR_FIELD, "text_limit", "whole"},
    {"{\"code\":\"1\",\"outputs\":99999999999999999999}", ERR_FIELD, "outputs",
     "whole"},
    {"{\"code\":\"1\",\"traceback\":\"verbose\"}", ERR_FIELD, "traceback",
     "\"minimal\""},
};

static void faults_are_named(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(faults); i++) {
    CLEANUP(outcome_free) struct outcome outcome;
    read_body(faults[i].body, strlen(faults[i].body), &outcome);
    const char *field = json_get_text(outcome.details, "field");
    if (outcome.result != -1 || outcome.err.kind != faults[i].kind ||
        strstr(outcome.err.text, faults[i].word) == NULL ||
        (field == NULL) != (faults[i].field == NULL) ||
        (field != NULL && strcmp(field, faults[i].field) != 0))
      fail_msg("%s: %d, kind %d, field %s: %s", faults[i].body, outcome.result,
               outcome.err.kind, field, outcome.err.text);
  }
}

static void the_near_name_is_a_member_of_its_own(void **state) {
  (void)state;
  CLEANUP(outcome_free) struct outcome outcome;
  read_body("{\"code\":\"1\",\"tiemout\":3}", 24, &outcome);
  assert_string_equal(json_get_text(outcome.details, "did_you_mean"),
                      "timeout");
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(100000);
  buf_text(&text, "{\"code\":");
  for (int i = 0; i < 10000; i++)
    buf_byte(&text, '[');
  for (int i = 0; i < 10000; i++)
    buf_byte(&text, ']');
  buf_byte(&text, '}');
  CLEANUP(outcome_free) struct outcome outcome;
  read_body(buf_string(&text), text.length, &outcome);
  assert_int_equal(outcome.result, -1);
  assert_int_equal(outcome.err.kind, ERR_INVALID);
}

static void code_may_be_the_whole_body(void **state) {
  (void)state;
  struct err err;
  struct execute_body body;
  assert_int_equal(execute_body_code("x = 1\n", 6, &body, NULL, &err), 0);
  assert_int_equal(body.code.length, 6);
  assert_true(body.wait);
  assert_int_equal(execute_body_code("", 0, &body, NULL, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(execute_body_code("\xed\xa0\x80", 3, &body, NULL, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  CLEANUP(json_done) struct json *details = NULL;
  assert_int_equal(execute_body_code("1\n\0", 3, &body, &details, &err), -1);
  assert_int_equal(err.kind, ERR_FIELD);
  assert_non_null(strstr(err.text, "line 2, column 1 (byte 3)"));
  assert_string_equal(json_get_text(details, "field"), "code");
}

static void fields_come_as_query_beside_bare_code(void **state) {
  (void)state;
  struct execute_body body;
  struct err err = {0};
  CLEANUP(json_done) struct json *keep = NULL;
  struct request_parameter good[] = {{"timeout", "2.5"},
                                     {"section", "12 é\u200d日本 😀"},
                                     {"wait", "false"},
                                     {"images", "link"},
                                     {"text_limit", "500"}};
  assert_int_equal(execute_body_code("x", 1, &body, NULL, &err), 0);
  assert_int_equal(
      execute_body_query(good, COUNT_OF(good), 3600, &body, &keep, NULL, &err),
      0);
  assert_true(body.run.timeout == 2.5 && !body.wait && body.run.images_linked);
  assert_string_equal(body.run.section, "12 é\u200d日本 😀");
  assert_int_equal(body.run.text_limit, 500);
  assert_int_equal(body.code.length, 1);
  struct request_parameter bad[] = {{"timeout", "soon"}, {"timeout", "-1"},
                                    {"wait", "1"},       {"images", "none"},
                                    {"timeout", ""},     {"text_limit", "1.5"},
                                    {"outputs", "[1]"}};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct json *nothing = NULL;
    assert_int_equal(
        execute_body_query(&bad[i], 1, 3600, &body, &nothing, NULL, &err), -1);
    assert_int_equal(err.kind, ERR_FIELD);
    assert_non_null(strstr(err.text, bad[i].name));
    assert_null(nothing);
  }
}

static void keys_are_visible_ascii(void **state) {
  (void)state;
  char key[257];
  memset(key, 'k', 256);
  key[256] = '\0';
  struct err err;
  assert_int_equal(execute_body_check_key("7f-\"~!", &err), 0);
  assert_int_equal(execute_body_check_key(key + 1, &err), 0);
  assert_int_equal(execute_body_check_key(key, &err), -1);
  assert_int_equal(execute_body_check_key("", &err), -1);
  assert_int_equal(execute_body_check_key("a b", &err), -1);
  assert_int_equal(execute_body_check_key("\xc3\xa9", &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_asked_arrives),
      cmocka_unit_test(defaults_stand_for_what_is_left_out),
      cmocka_unit_test(faults_are_named),
      cmocka_unit_test(the_near_name_is_a_member_of_its_own),
      cmocka_unit_test(deep_nesting_is_refused),
      cmocka_unit_test(code_may_be_the_whole_body),
      cmocka_unit_test(fields_come_as_query_beside_bare_code),
      cmocka_unit_test(keys_are_visible_ascii),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
