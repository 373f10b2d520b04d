/* The writers. The expected texts are what Python 3.11 printed with
 * json.dumps(value, indent=1, separators=(",", ": "), ensure_ascii=False). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/json/json.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct json *parsed(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_STORE, &value, &err) < 0)
    fail_msg("%s: %s", text, err.text);
  return value;
}

static const struct {
  const char *text, *as_is, *sorted;
} layouts[] = {
    {"{}", "{}", "{}"},
    {"[]", "[]", "[]"},
    {"3", "3", "3"},
    {"{\"a\":[]}", "{\n \"a\": []\n}", "{\n \"a\": []\n}"},
    {"{\"b\":{},\"a\":[1,2.5,\"x\",null,true,false]}",
     "{\n \"b\": {},\n \"a\": [\n  1,\n  2.5,\n  \"x\",\n  null,\n  true,\n"
     "  false\n ]\n}",
     "{\n \"a\": [\n  1,\n  2.5,\n  \"x\",\n  null,\n  true,\n  false\n ],\n"
     " \"b\": {}\n}"},
    {"{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"a\\n\",\"b\"],"
     "\"metadata\":{}}],\"metadata\":{\"z\":1,\"a\":{\"\u00FC\":\"\u00E9\"}},"
     "\"nbformat\":4}",
     "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n"
     "    \"a\\n\",\n    \"b\"\n   ],\n   \"metadata\": {}\n  }\n ],\n"
     " \"metadata\": {\n  \"z\": 1,\n  \"a\": {\n   \"\u00FC\": \"\u00E9\"\n"
     "  }\n },\n \"nbformat\": 4\n}",
     "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n"
     "   \"metadata\": {},\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n"
     "  }\n ],\n \"metadata\": {\n  \"a\": {\n   \"\u00FC\": \"\u00E9\"\n"
     "  },\n  \"z\": 1\n },\n \"nbformat\": 4\n}"},
    /* U+FFFF before U+1F600: by code point, not by UTF-16 unit. */
    {"{\"\u00E9\":1,\"z\":2,\"Z\":3,\"\U0001F600\":4,\"\uFFFF\":5,\"\":6}",
     "{\n \"\u00E9\": 1,\n \"z\": 2,\n \"Z\": 3,\n \"\U0001F600\": 4,\n"
     " \"\uFFFF\": 5,\n \"\": 6\n}",
     "{\n \"\": 6,\n \"Z\": 3,\n \"z\": 2,\n \"\u00E9\": 1,\n"
     " \"\uFFFF\": 5,\n \"\U0001F600\": 4\n}"},
};

static void indented_as_python_does(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(layouts); i++) {
    CLEANUP(json_done) struct json *value = parsed(layouts[i].text);
    CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
    assert_int_equal(json_write_indented(value, false, 0, &out), 0);
    assert_string_equal(buf_string(&out), layouts[i].as_is);
    buf_reset(&out);
    assert_int_equal(json_write_indented(value, true, 0, &out), 0);
    assert_string_equal(buf_string(&out), layouts[i].sorted);
    buf_reset(&out);
    assert_int_equal(json_write(value, &out), 0);
    assert_string_equal(buf_string(&out), layouts[i].text);
  }
}

/* A cell is written by itself and put into the file at its depth. */
static void indented_from_a_depth(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *value = parsed("{\"a\":[1],\"b\":{}}");
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  assert_int_equal(json_write_indented(value, false, 2, &out), 0);
  assert_string_equal(buf_string(&out),
                      "{\n   \"a\": [\n    1\n   ],\n   \"b\": {}\n  }");
}

static void doubles_as_python_does(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {100.0, "100.0"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {0.1 + 0.2, "0.30000000000000004"},
      {123456.789, "123456.789"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {1.5e300, "1.5e+300"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {__builtin_nan(""), "null"},
      {__builtin_inf(), "null"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    CLEANUP(json_done) struct json *value = json_number(cases[i].value);
    CLEANUP(buf_free) struct buf out = BUF_INIT(100);
    assert_int_equal(json_write(value, &out), 0);
    assert_string_equal(buf_string(&out), cases[i].text);
  }
}

static void integers_to_both_ends(void **state) {
  (void)state;
  static const struct {
    int64_t value;
    const char *text;
  } cases[] = {{0, "0"},
               {-1, "-1"},
               {10, "10"},
               {INT64_MAX, "9223372036854775807"},
               {INT64_MIN, "-9223372036854775808"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    CLEANUP(json_done) struct json *value = json_integer(cases[i].value);
    CLEANUP(buf_free) struct buf out = BUF_INIT(100);
    assert_int_equal(json_write(value, &out), 0);
    assert_string_equal(buf_string(&out), cases[i].text);
  }
}

static void string_literals(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  static const char text[] = "\"\\/\b\f\n\r\t\0\x1B\x7F\u00E9\xFF </a>";
  assert_int_equal(json_write_string(text, sizeof text - 1, &out), 0);
  assert_string_equal(buf_string(&out),
                      "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001b\x7F\u00E9"
                      "\uFFFD </a>\"");
}

/* Every byte at every distance from the eight-byte steps of the fast path. */
static void every_byte_at_every_place(void **state) {
  (void)state;
  for (int byte = 0; byte < 256; byte++) {
    for (size_t place = 0; place < 17; place++) {
      char text[17], expected[8];
      memset(text, 'x', sizeof text);
      text[place] = (char)byte;
      CLEANUP(buf_free) struct buf out = BUF_INIT(100);
      assert_int_equal(json_write_string(text, sizeof text, &out), 0);
      CLEANUP(json_done) struct json *value = parsed(buf_string(&out));
      CLEANUP(json_done) struct json *same = json_string_n(text, sizeof text);
      assert_true(json_equal(value, same));
      bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
      assert_int_equal(out.length == sizeof text + 2, plain);
      memcpy(expected, "xxxxxxx", sizeof expected);
      assert_memory_equal(buf_string(&out) + 1, expected,
                          place < 7 ? place : 7);
    }
  }
}

static void a_full_buffer_is_left_as_it_was(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *value = parsed("{\"a\":[1,\"two\",{\"b\":null}],\"c\":\"\\n\"}");
  CLEANUP(buf_free) struct buf whole = BUF_INIT(1000);
  assert_int_equal(json_write_indented(value, true, 0, &whole), 0);
  for (size_t limit = 3; limit <= whole.length + 3; limit++) {
    CLEANUP(buf_free) struct buf out = BUF_INIT(limit);
    assert_int_equal(buf_text(&out, "log"), 0);
    bool fits = limit == whole.length + 3;
    int result = json_write_indented(value, true, 0, &out);
    assert_int_equal(result, fits ? 0 : -1);
    assert_int_equal(out.overflowed, !fits);
    assert_int_equal(out.length, fits ? limit : 3);
    assert_memory_equal(buf_string(&out), "log", 3);
  }
}

/* A buffer that overflowed earlier still takes what fits. */
static void an_old_overflow_is_neither_cause_nor_lost(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(6);
  assert_int_equal(buf_text(&out, "too long"), -1);
  assert_int_equal(json_write_string("abcd", 4, &out), 0);
  assert_string_equal(buf_string(&out), "\"abcd\"");
  assert_true(out.overflowed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indented_as_python_does),
      cmocka_unit_test(indented_from_a_depth),
      cmocka_unit_test(doubles_as_python_does),
      cmocka_unit_test(integers_to_both_ends),
      cmocka_unit_test(string_literals),
      cmocka_unit_test(every_byte_at_every_place),
      cmocka_unit_test(a_full_buffer_is_left_as_it_was),
      cmocka_unit_test(an_old_overflow_is_neither_cause_nor_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
