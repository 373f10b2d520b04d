/* JSON values: made, changed, looked at, compared; and UTF-8. */
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

static void strings_are_repaired(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *value = json_string_n(TEXT("a\xC3(\0\xFF"));
  assert_int_equal(json_text_length(value), 9);
  assert_memory_equal(json_text(value), "a" U_FFFD "(\0" U_FFFD, 9);
}

static void values_are_made_changed_and_copied(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *object = json_object();
  json_set_text(object, "text", "a");
  json_set(object, "nul", json_string_n("a\0b", 3));
  json_set_text(object, "none", NULL);
  json_set_integer(object, "text", 5);
  json_set_boolean(object, "yes", true);
  json_set(object, "bad\xFFkey", json_number(0.5));
  struct json *array = json_array();
  for (int i = 0; i < 6; i++)
    json_push(array, json_integer(i));
  json_remove_at(array, 1, 2);
  json_remove_at(array, 3, 100);
  json_remove_at(array, 3, 1);
  json_replace_at(array, 2, json_string("last"));
  json_replace_at(array, 3, json_string("beyond"));
  json_set(object, "array", array);
  CLEANUP(json_done) struct json *copy = json_copy(object);
  json_remove(object, "yes");
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  assert_int_equal(json_write(copy, &out), 0);
  assert_string_equal(buf_string(&out),
                      "{\"text\":5,\"nul\":\"a\\u0000b\",\"none\":null,"
                      "\"yes\":true,\"bad" U_FFFD "key\":0.5,"
                      "\"array\":[0,3,\"last\"]}");
  assert_false(json_equal(object, copy));
  json_set_boolean(object, "yes", true);
  assert_true(json_equal(object, copy)); /* though the order differs */
}

static void wrong_kinds_are_harmless(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *text = json_string("5");
  struct json *looked[] = {NULL, text};
  for (size_t i = 0; i < COUNT(looked); i++) {
    struct json *value = looked[i];
    void *walk = NULL;
    const char *key;
    struct json *member;
    assert_null(json_get(value, "a"));
    assert_false(json_has(value, "a"));
    assert_null(json_at(value, 0));
    assert_int_equal(json_length(value), 0);
    assert_int_equal(json_as_integer(value, 3), 3);
    assert_true(json_as_number(value, 2.5) == 2.5);
    assert_true(json_as_boolean(value, true));
    assert_null(json_get_text(value, "a"));
    assert_int_equal(json_get_integer(value, "a", 4), 4);
    assert_null(json_digits(value));
    assert_false(json_next(value, &walk, &key, &member));
    json_set(value, "a", json_integer(1));
    json_push(value, json_integer(1));
    json_replace_at(value, 0, json_integer(1));
    json_remove_at(value, 0, 1);
    json_remove(value, "a");
  }
  assert_null(json_text(NULL));
  assert_int_equal(json_text_length(NULL), 0);
  assert_null(json_number(__builtin_nan("")));
  assert_null(json_number(-__builtin_inf()));
  assert_null(json_string_n(NULL, 0));
  CLEANUP(json_done) struct json *array = json_array();
  assert_null(json_at(array, 0));
}

static void walking_goes_in_order_and_ends(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *object = NULL;
  static const char text[] = "{\"b\":1,\"a\":null,\"c\":3}";
  assert_int_equal(json_parse(TEXT(text), &strict, &object, NULL), 0);
  CLEANUP(buf_free) struct buf keys = BUF_INIT(100);
  void *walk = NULL;
  const char *key;
  struct json *value;
  int64_t sum = 0;
  while (json_next(object, &walk, &key, &value)) {
    buf_text(&keys, key);
    sum += json_as_integer(value, 10);
  }
  assert_string_equal(buf_string(&keys), "bac");
  assert_int_equal(sum, 14);
  assert_false(json_next(object, &walk, &key, &value));
}

static void equality(void **state) {
  (void)state;
  static const struct {
    const char *left, *right;
    bool equal;
  } cases[] = {
      {"null", "null", true},
      {"null", "false", false},
      {"1", "1", true},
      {"1", "2", false},
      {"1", "1.0", false},
      {"9223372036854775808", "9223372036854775809", false},
      {"\"a\"", "\"\\u0061\"", true},
      {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
      {"[1,[2]]", "[1,[2]]", true},
      {"[1,2]", "[2,1]", false},
      {"[1]", "[1,null]", false},
      {"{\"a\":1,\"b\":null}", "{\"b\":null,\"a\":1}", true},
      {"{\"a\":null}", "{\"b\":null}", false},
      {"{}", "[]", false},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const char *texts[] = {cases[i].left, cases[i].right};
    struct json *values[2] = {NULL, NULL};
    for (size_t side = 0; side < 2; side++)
      assert_int_equal(json_parse(texts[side], strlen(texts[side]), &strict,
                                  &values[side], NULL),
                       0);
    assert_int_equal(json_equal(values[0], values[1]), cases[i].equal);
    assert_int_equal(json_equal(values[1], values[0]), cases[i].equal);
    json_free(values[0]);
    json_free(values[1]);
  }
}

static void a_share_outlives_its_container(void **state) {
  (void)state;
  struct json *array = json_array();
  json_push(array, json_string("kept"));
  CLEANUP(json_done) struct json *shared = json_share(json_at(array, 0));
  json_free(array);
  assert_string_equal(json_text(shared), "kept");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_repaired),
      cmocka_unit_test(values_are_made_changed_and_copied),
      cmocka_unit_test(wrong_kinds_are_harmless),
      cmocka_unit_test(walking_goes_in_order_and_ends),
      cmocka_unit_test(equality),
      cmocka_unit_test(a_share_outlives_its_container),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
