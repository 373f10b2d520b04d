/* What stays text until somebody looks: the same as values, but small. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/json/json.h"

#define MIB ((size_t)1 << 20)

static uint32_t seed;

static unsigned below(unsigned limit) {
  seed = seed * 1664525U + 1013904223U;
  return (seed >> 8) % limit;
}

/* A value as a kernel may write it, with keys that stand twice, odd escapes,
 * broken UTF-8 and white space. */
static void make_value(unsigned levels, struct buf *out) {
  static const char *const scalars[] = {"null",
                                        "true",
                                        "-0",
                                        "1.50",
                                        "1e400",
                                        "NaN",
                                        "\"\\u00e9 \"",
                                        "\"\\ud800\"",
                                        "\"\"",
                                        "\"\xff\"",
                                        "\"a\\/b\\\"\\u001f\"",
                                        "12345678901234567890"};
  static const char *const keys[] = {"\"b\"",       "\"a\"", "\"\"",
                                     "\"a\\\"\"",   "\"B\"", "\"\xc3\xa9\"",
                                     "\"a\\u0041\""};
  unsigned kind = levels == 0 ? 0 : below(3);
  unsigned count = below(5);
  if (kind == 0) {
    buf_text(out, scalars[below(COUNT_OF(scalars))]);
    return;
  }
  buf_text(out, kind == 1 ? "[ " : "{\n");
  for (unsigned i = 0; i < count; i++) {
    buf_text(out, i == 0 ? "" : " ,");
    if (kind == 2)
      buf_format(out, "%s :", keys[below(COUNT_OF(keys))]);
    make_value(levels - 1, out);
  }
  buf_text(out, kind == 1 ? "]" : "}");
}

static struct json *parse(const struct buf *text, unsigned raw_depth) {
  struct json_rules rules = {.max_bytes = SIZE_MAX,
                             .max_depth = 100,
                             .tolerant = true,
                             .raw_depth = raw_depth};
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text->data, text->length, &rules, &value, &err) < 0)
    fail_msg("%s in %s", err.text, text->data);
  return value;
}

static void look_everywhere(struct json *value) {
  void *state = NULL;
  const char *key;
  struct json *member;
  for (size_t i = 0; i < json_length(value); i++)
    look_everywhere(json_at(value, i));
  while (json_next(value, &state, &key, &member))
    look_everywhere(member);
}

static void expect_alike(const struct json *a, const struct json *b) {
  for (int way = 0; way < 4; way++) {
    CLEANUP(buf_free) struct buf one = BUF_INIT(MIB);
    CLEANUP(buf_free) struct buf other = BUF_INIT(MIB);
    const struct json *values[] = {a, b};
    struct buf *texts[] = {&one, &other};
    for (int i = 0; i < 2; i++)
      assert_int_equal(
          way == 0   ? json_write(values[i], texts[i])
          : way == 1 ? json_write_sorted(values[i], texts[i])
                     : json_write_indented(values[i], way == 2, 3, texts[i]),
          0);
    assert_string_equal(buf_string(&one), buf_string(&other));
  }
}

static void text_is_written_as_its_value_would_be(void **state) {
  (void)state;
  for (seed = 1; seed != 0 && seed < 3000; seed++) {
    uint32_t mine = seed;
    CLEANUP(buf_free) struct buf text = BUF_INIT(MIB);
    make_value(6, &text);
    CLEANUP(json_done) struct json *value = parse(&text, 0);
    for (unsigned depth = 1; depth < 4; depth++) {
      CLEANUP(json_done) struct json *raw = parse(&text, depth);
      assert_int_equal(json_kind(raw), json_kind(value));
      expect_alike(raw, value);
      assert_true(json_equal(raw, value));
      CLEANUP(json_done) struct json *copy = json_copy(raw);
      assert_true(json_equal(value, copy));
      look_everywhere(raw);
      expect_alike(raw, value);
      assert_true(json_equal(raw, copy));
    }
    seed = mine;
  }
}

static void a_look_inside_gives_what_was_sent(void **state) {
  (void)state;
  static const char sent[] =
      "{\"data\":{\"application/json\":{\"a\":[1,{\"b\":[2]}],\"c\":null}}}";
  struct json *value = NULL;
  assert_int_equal(
      json_parse(sent, strlen(sent), &JSON_RULES_KERNEL, &value, NULL), 0);
  struct json *inside = json_get(json_get(value, "data"), "application/json");
  CLEANUP(json_done) struct json *shared = json_share(inside);
  assert_int_equal(json_length(inside), 2);
  assert_true(json_has(inside, "c"));
  const struct json *list = json_get(inside, "a");
  assert_int_equal(json_as_integer(json_at(list, 0), 0), 1);
  assert_int_equal(
      json_as_integer(json_at(json_get(json_at(list, 1), "b"), 0), 0), 2);
  json_set_integer(inside, "d", 4);
  json_remove(inside, "c");
  json_free(value);
  CLEANUP(buf_free) struct buf text = BUF_INIT(MIB);
  assert_int_equal(json_write(shared, &text), 0);
  assert_string_equal(buf_string(&text), "{\"a\":[1,{\"b\":[2]}],\"d\":4}");
}

static void a_key_with_a_nul_is_passed_on(void **state) {
  (void)state;
  static const char sent[] = "{\"d\":{\"j\":{\"A\\u0000\":1,\"A\":2}}}";
  CLEANUP(json_done) struct json *value = NULL;
  assert_int_equal(
      json_parse(sent, strlen(sent), &JSON_RULES_KERNEL, &value, NULL), 0);
  CLEANUP(buf_free) struct buf text = BUF_INIT(MIB);
  assert_int_equal(json_write(value, &text), 0);
  assert_string_equal(buf_string(&text), sent);
  buf_reset(&text);
  assert_int_equal(json_write_indented(value, true, 0, &text), 0);
  assert_non_null(
      strstr(buf_string(&text), "   \"A\": 2,\n   \"A\\u0000\": 1"));
}

static void faults_are_found_in_what_stays_text(void **state) {
  (void)state;
  static const char *const broken[] = {
      "{\"d\":{\"j\":[1,]}}", "{\"d\":{\"j\":{\"a\"}}}", "{\"d\":{\"j\":[1",
      "{\"d\":{\"j\":{1:2}}}", "{\"d\":{\"j\":[\"\\x\"]}}"};
  for (size_t i = 0; i < COUNT_OF(broken); i++) {
    struct json *value = NULL;
    struct err err = {0};
    assert_int_equal(json_parse(broken[i], strlen(broken[i]),
                                &JSON_RULES_KERNEL, &value, &err),
                     -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_null(value);
  }
}

static void long_whole_numbers_become_text(void **state) {
  (void)state;
  for (size_t digits = 4300; digits <= 4301; digits++) {
    CLEANUP(buf_free) struct buf text = BUF_INIT(MIB);
    CLEANUP(buf_free) struct buf written = BUF_INIT(MIB);
    buf_text(&text, "{\"a\":-");
    for (size_t i = 0; i < digits; i++)
      buf_byte(&text, '7');
    buf_text(&text, ",\"b\":0.5}");
    for (unsigned depth = 0; depth < 2; depth++) {
      CLEANUP(json_done) struct json *value = parse(&text, depth);
      buf_reset(&written);
      assert_int_equal(json_write(value, &written), 0);
      if (digits == 4300) {
        assert_string_equal(written.data, text.data);
        continue;
      }
      assert_memory_equal(written.data, "{\"a\":\"-777", 10);
      assert_string_equal(
          written.data + 6 + digits,
          "7 (a number of 4301 digits, given as text)\",\"b\":0.5}");
    }
  }
}

/* What {"application/json": [{}] * 300000} cost: 240 MiB. */
static void many_small_objects_take_their_text(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(2 * MIB);
  buf_text(&text, "{\"data\":{\"application/json\":[{}");
  for (int i = 0; i < 300000; i++)
    buf_text(&text, ",{}");
  buf_text(&text, "]}}");
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  CLEANUP(json_done) struct json *value = NULL;
  assert_int_equal(
      json_parse(text.data, text.length, &JSON_RULES_KERNEL, &value, NULL), 0);
  CLEANUP(json_done) struct json *copy = json_copy(value);
  assert_true(json_equal(value, copy));
  size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  assert_true(after - before < 3 * MIB);
}

static void what_must_be_values_has_a_budget(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(2 * MIB);
  buf_text(&text, "{\"code\":[{}");
  for (int i = 0; i < 166000; i++)
    buf_text(&text, ",{}");
  buf_text(&text, "]}");
  struct json *value = NULL;
  struct err err = {0};
  assert_int_equal(
      json_parse(text.data, text.length, &JSON_RULES_REQUEST, &value, &err),
      -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  /* Its own text does not count. */
  buf_reset(&text);
  buf_text(&text, "[\"");
  while (text.length < 12 * MIB / 10)
    buf_text(&text, "xxxxxxxxxxxxxxxx");
  buf_text(&text, "\"]");
  assert_int_equal(
      json_parse(text.data, text.length, &JSON_RULES_REQUEST, &value, &err), 0);
  json_free(value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_written_as_its_value_would_be),
      cmocka_unit_test(a_look_inside_gives_what_was_sent),
      cmocka_unit_test(a_key_with_a_nul_is_passed_on),
      cmocka_unit_test(faults_are_found_in_what_stays_text),
      cmocka_unit_test(long_whole_numbers_become_text),
      cmocka_unit_test(many_small_objects_take_their_text),
      cmocka_unit_test(what_must_be_values_has_a_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
