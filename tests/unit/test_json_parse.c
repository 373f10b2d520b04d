/* Reading JSON: every trap with its right answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/json/json.h"

#define U_FFFD "\xEF\xBF\xBD"
/* A literal with its length, so that it may hold NULs. */
#define TEXT(literal) (literal), sizeof(literal) - 1
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct json_rules strict = {.max_bytes = 1 << 20, .max_depth = 8};
static const struct json_rules tolerant = {
    .max_bytes = 1 << 20, .max_depth = 8, .tolerant = true};

/* Reads `text` and gives it back as the compact writer puts it, or NULL. */
static char *rewritten(const char *text, size_t length,
                       const struct json_rules *rules, struct err *err) {
  CLEANUP(json_done) struct json *value = NULL;
  if (json_parse(text, length, rules, &value, err) < 0)
    return NULL;
  struct buf out = BUF_INIT(1 << 20);
  assert_int_equal(json_write(value, &out), 0);
  return buf_take(&out);
}

/* Fails, with the two texts in the log, unless `text` becomes `expected`. */
static void check(const char *text, size_t length,
                  const struct json_rules *rules, const char *expected) {
  struct err err = {0};
  CLEANUP(mem_free_pointer) char *got = rewritten(text, length, rules, &err);
  if (got == NULL)
    fail_msg("%s was refused: %s", text, err.text);
  assert_string_equal(got, expected);
}

static void check_refused(const char *text, size_t length,
                          const struct json_rules *rules, const char *reason) {
  struct err err = {0};
  CLEANUP(mem_free_pointer) char *got = rewritten(text, length, rules, &err);
  if (got != NULL)
    fail_msg("%s was accepted as %s", text, got);
  assert_int_equal(err.kind, strstr(reason, "NUL") ? ERR_FIELD : ERR_INVALID);
  if (strstr(err.text, reason) == NULL)
    fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, reason);
}

static void valid_text_keeps_its_meaning(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length;
    const char *expected;
  } cases[] = {
      {TEXT("null"), "null"},
      {TEXT(" \t\r\n true "), "true"},
      {TEXT("\"\""), "\"\""},
      {TEXT("[ ]"), "[]"},
      {TEXT("{ }"), "{}"},
      {TEXT("[1 , [ 2 ],{\"a\" :null}]"), "[1,[2],{\"a\":null}]"},
      {TEXT("{\"z\":1,\"a\":2,\"\":3}"), "{\"z\":1,\"a\":2,\"\":3}"},
      {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
      {TEXT("\"\\u00e9\\u4E2d\\uFFFF\""),
       "\"\xC3\xA9\xE4\xB8\xAD\xEF\xBF\xBF\""},
      {TEXT("\"\\ud83d\\uDE00\""), "\"\xF0\x9F\x98\x80\""},
      {TEXT("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""),
       "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""},
      {TEXT("\"a\\u0000b\""), "\"a\\u0000b\""},
      {TEXT("\"\x7F\xC2\x80\xE2\x80\xA8\""), "\"\x7F\xC2\x80\xE2\x80\xA8\""},
      {TEXT("{\"\\u0061\\n\":1}"), "{\"a\\n\":1}"},
      {TEXT("[[[[[[[[1]]]]]]]]"), "[[[[[[[[1]]]]]]]]"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    check(cases[i].text, cases[i].length, &strict, cases[i].expected);
    check(cases[i].text, cases[i].length, &tolerant, cases[i].expected);
  }
}

static void broken_grammar_is_refused_in_both_modes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length;
    const char *reason;
  } cases[] = {
      {TEXT(""), "ends at byte 0"},
      {TEXT("  "), "ends at byte 2"},
      {TEXT("["), "ends at byte 1"},
      {TEXT("[1"), "ends at byte 2"},
      {TEXT("{\"a\""), "ends at byte 4"},
      {TEXT("{\"a\":"), "ends at byte 5"},
      {TEXT("[1,]"), "expected a value at byte 3"},
      {TEXT("[,1]"), "expected a value at byte 1"},
      {TEXT("[1 2]"), "expected \",\" or \"]\" at byte 3"},
      {TEXT("{\"a\":1,}"), "expected a key in double quotes at byte 7"},
      {TEXT("{\"a\" 1}"), "expected \":\" at byte 5"},
      {TEXT("{1:2}"), "expected a key in double quotes at byte 1"},
      {TEXT("{'a':1}"), "unexpected character at byte 1"},
      {TEXT("{\"a\":1]"), "expected \",\" or \"}\" at byte 6"},
      {TEXT("[1}"), "expected \",\" or \"]\" at byte 2"},
      {TEXT("1 1"), "expected the end of the text at byte 2"},
      {TEXT("nullx"), "unexpected character at byte 4"},
      {TEXT("nul"), "unexpected character at byte 0"},
      {TEXT("True"), "unexpected character at byte 0"},
      {TEXT("[1]\0"), "unexpected character at byte 3"},
      {TEXT("/* a */ 1"), "unexpected character at byte 0"},
      {TEXT("\xEF\xBB\xBF{}"), "unexpected character at byte 0"},
      {TEXT("1."), "no digit after its point at byte 0"},
      {TEXT("[1.e5]"), "no digit after its point at byte 1"},
      {TEXT(".5"), "unexpected character at byte 0"},
      {TEXT("-"), "without digits at byte 0"},
      {TEXT("-.5"), "without digits at byte 0"},
      {TEXT("+1"), "unexpected character at byte 0"},
      {TEXT("01"), "leading zero at byte 0"},
      {TEXT("-00"), "leading zero at byte 0"},
      {TEXT("1e"), "empty exponent at byte 0"},
      {TEXT("1e+"), "empty exponent at byte 0"},
      {TEXT("0x10"), "unexpected character at byte 1"},
      {TEXT("\"a"), "not closed at byte 0"},
      {TEXT("\"a\\"), "not closed at byte 0"},
      {TEXT("\"\\"), "not closed at byte 0"},
      {TEXT("\"\\x41\""), "unknown escape at byte 1"},
      {TEXT("\"\\u12g4\""), "four hex digits at byte 1"},
      {TEXT("\"\\u123"), "four hex digits at byte 1"},
      {TEXT("\"a\nb\""), "raw control character in a string at byte 2"},
      {TEXT("\"a\0b\""), "raw control character in a string at byte 2"},
      {TEXT("[[[[[[[[[1]]]]]]]]]"), "deeper than 8 levels at byte 8"},
      {TEXT("[{\"a\":[{\"a\":[{\"a\":[{\"a\":{}}]}]}]}]"),
       "deeper than 8 levels at byte 24"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    check_refused(cases[i].text, cases[i].length, &strict, cases[i].reason);
    check_refused(cases[i].text, cases[i].length, &tolerant, cases[i].reason);
  }
}

static void what_kernels_get_wrong_is_mended_only_for_them(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length;
    const char *reason, *expected;
  } cases[] = {
      {TEXT("[NaN]"), "NaN or Infinity, which JSON lacks, at byte 1",
       "[\"NaN\"]"},
      {TEXT("[Infinity,-Infinity]"), "at byte 1",
       "[\"Infinity\",\"-Infinity\"]"},
      {TEXT("\"\\ud800\""), "surrogate pair at byte 1", "\"" U_FFFD "\""},
      {TEXT("\"\\ude00\\ud83d\""), "surrogate pair at byte 1",
       "\"" U_FFFD U_FFFD "\""},
      {TEXT("\"\\ud83d\\ud83d\\ude00\""), "surrogate pair at byte 1",
       "\"" U_FFFD "\xF0\x9F\x98\x80\""},
      {TEXT("\"\\ud83dx\\u0041\""), "surrogate pair at byte 1",
       "\"" U_FFFD "xA\""},
      {TEXT("\"\xC0\x80\""), "invalid UTF-8 at byte 1",
       "\"" U_FFFD U_FFFD "\""},
      {TEXT("\"ab\xED\xA0\x80z\""), "invalid UTF-8 at byte 3",
       "\"ab" U_FFFD U_FFFD U_FFFD "z\""},
      {TEXT("\"\xE4\xB8\""), "invalid UTF-8 at byte 1", "\"" U_FFFD "\""},
      {TEXT("\"\xF4\x90\x80\x80\""), "invalid UTF-8 at byte 1",
       "\"" U_FFFD U_FFFD U_FFFD U_FFFD "\""},
      {TEXT("{\"a\\u0000b\":1}"), "the key at byte 1 has a NUL",
       "{\"a" U_FFFD "b\":1}"},
      {TEXT("{\"\xFF\":1}"), "invalid UTF-8 at byte 2", "{\"" U_FFFD "\":1}"},
      {TEXT("{\"a\":1,\"b\":2,\"a\":3}"), "the key at byte 13 is there",
       "{\"a\":3,\"b\":2}"},
      {TEXT("{\"a\":1,\"\\u0061\":3}"), "is there twice", "{\"a\":3}"},
      {TEXT("{\"a\":null,\"a\":null}"), "is there twice", "{\"a\":null}"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    check_refused(cases[i].text, cases[i].length, &strict, cases[i].reason);
    check(cases[i].text, cases[i].length, &tolerant, cases[i].expected);
  }
}

static void numbers_keep_their_digits(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum json_kind kind;
    int64_t integer; /* -7 stands for "not an integer" */
    double number;
  } cases[] = {
      {"0", JSON_INTEGER, 0, 0},
      {"-12", JSON_INTEGER, -12, -12},
      {"9223372036854775807", JSON_INTEGER, INT64_MAX, 0x1p63},
      {"-9223372036854775808", JSON_INTEGER, INT64_MIN, -0x1p63},
      {"9223372036854775808", JSON_NUMBER, -7, 0x1p63},
      {"-9223372036854775809", JSON_NUMBER, -7, -0x1p63},
      {"123456789012345678901234567890", JSON_NUMBER, -7,
       123456789012345678901234567890.0},
      {"-0", JSON_NUMBER, -7, 0},
      {"1.0", JSON_NUMBER, -7, 1},
      {"1.10", JSON_NUMBER, -7, 1.1},
      {"0.1", JSON_NUMBER, -7, 0.1},
      {"0.1000000000000000055511151231257827", JSON_NUMBER, -7, 0.1},
      {"1E+2", JSON_NUMBER, -7, 100},
      {"1e999", JSON_NUMBER, -7, __builtin_inf()},
      {"-1e999", JSON_NUMBER, -7, -__builtin_inf()},
      {"1e-999", JSON_NUMBER, -7, 0},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const char *text = cases[i].text;
    CLEANUP(json_done) struct json *value = NULL;
    assert_int_equal(json_parse(text, strlen(text), &strict, &value, NULL), 0);
    assert_int_equal(json_kind(value), cases[i].kind);
    assert_true(json_as_integer(value, -7) == cases[i].integer);
    assert_true(json_as_number(value, -7) == cases[i].number);
    check(text, strlen(text), &strict, text);
    CLEANUP(json_done) struct json *copy = json_copy(value);
    assert_true(json_equal(copy, value));
  }
}

static void too_much_is_too_large(void **state) {
  (void)state;
  struct json_rules rules = {.max_bytes = 10, .max_depth = 8};
  struct err err = {0};
  struct json *value = NULL;
  assert_int_equal(json_parse("[1,2,3,45]", 10, &rules, &value, NULL), 0);
  json_done(&value);
  assert_int_equal(json_parse("[1,2,3,456]", 11, &rules, &value, &err), -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  rules.max_memory = 700;
  assert_int_equal(json_parse("[{},{}]", 7, &rules, &value, NULL), 0);
  json_done(&value);
  assert_int_equal(json_parse("[{},{},{}]", 10, &rules, &value, &err), -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  assert_null(value);
}

static void failure_leaves_the_output_alone(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *before = json_integer(1);
  struct json *value = before;
  assert_int_equal(json_parse("[[1,2],", 7, &strict, &value, NULL), -1);
  assert_ptr_equal(value, before);
}

/* The rules of the house go as deep as they say. */
static void depth_of_each_rule(void **state) {
  (void)state;
  static const struct {
    const struct json_rules *rules;
    size_t depth;
  } cases[] = {{&JSON_RULES_REQUEST, 64},
               {&JSON_RULES_KERNEL, 512},
               {&JSON_RULES_NOTEBOOK, 512},
               {&JSON_RULES_STORE, 600}};
  char text[2 * 601];
  for (size_t i = 0; i < COUNT(cases); i++) {
    for (size_t depth = cases[i].depth; depth <= cases[i].depth + 1; depth++) {
      memset(text, '[', depth);
      memset(text + depth, ']', depth);
      struct json *value = NULL;
      int result = json_parse(text, 2 * depth, cases[i].rules, &value, NULL);
      assert_int_equal(result, depth == cases[i].depth ? 0 : -1);
      json_done(&value);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(valid_text_keeps_its_meaning),
      cmocka_unit_test(broken_grammar_is_refused_in_both_modes),
      cmocka_unit_test(what_kernels_get_wrong_is_mended_only_for_them),
      cmocka_unit_test(numbers_keep_their_digits),
      cmocka_unit_test(too_much_is_too_large),
      cmocka_unit_test(failure_leaves_the_output_alone),
      cmocka_unit_test(depth_of_each_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
