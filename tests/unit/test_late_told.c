/* What an answer tells of late output has a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/run/session/late_told.h"

#define RUN "01a2297b-5d3c-7088-9435-33582a6e1f43"

static struct json *stream(char letter, size_t length) {
  CLEANUP(mem_free_pointer) char *text = mem_new(length + 1);
  memset(text, letter, length);
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", "stdout");
  json_set(output, "text", json_string_n(text, length));
  return output;
}

static void add(struct late_told *told, const char *run, struct json *output) {
  CLEANUP(json_done) struct json *outputs = json_array();
  json_push(outputs, output);
  late_told_add(told, run, outputs, 0);
}

static const char *text_at(const struct json *list, size_t index) {
  return json_get_text(json_get(json_at(list, index), "output"), "text");
}

static void nothing_late_is_nothing(void **state) {
  (void)state;
  struct late_told told = {0};
  assert_null(late_told_take(&told));
}

static void what_fits_is_told_whole(void **state) {
  (void)state;
  struct late_told told = {0};
  add(&told, RUN, stream('a', LATE_TOLD_BYTES / 2));
  add(&told, "", stream('b', LATE_TOLD_BYTES / 2));
  CLEANUP(json_done) struct json *list = late_told_take(&told);
  assert_int_equal(json_length(list), 2);
  assert_string_equal(json_get_text(json_at(list, 0), "run"), RUN);
  assert_null(json_get_text(json_at(list, 1), "run"));
  assert_int_equal(strlen(text_at(list, 1)), LATE_TOLD_BYTES / 2);
}

static void of_more_the_beginning_is_told_and_where_the_rest_is(void **state) {
  (void)state;
  struct late_told told = {0};
  add(&told, RUN, stream('a', LATE_TOLD_BYTES - 3));
  add(&told, RUN, stream('b', 1000));
  add(&told, RUN, stream('c', 1));
  CLEANUP(json_done) struct json *list = late_told_take(&told);
  assert_int_equal(json_length(list), 3);
  assert_string_equal(text_at(list, 1), "bbb");
  assert_non_null(strstr(text_at(list, 2), "2 more late outputs"));
  assert_non_null(strstr(text_at(list, 2), "GET /v1/runs/" RUN));
  assert_null(late_told_take(&told));
}

static void a_character_is_not_cut(void **state) {
  (void)state;
  struct late_told told = {0};
  add(&told, RUN, stream('a', LATE_TOLD_BYTES - 3));
  struct json *output = stream('b', 1);
  json_set_text(output, "text", "é日本");
  add(&told, RUN, output);
  CLEANUP(json_done) struct json *list = late_told_take(&told);
  assert_string_equal(text_at(list, 1), "é");
}

static void a_large_display_is_left_out(void **state) {
  (void)state;
  struct late_told told = {0};
  struct json *output = stream('b', LATE_TOLD_BYTES + 1);
  struct json *data = json_object();
  json_set(data, "text/plain", json_share(json_get(output, "text")));
  json_remove(output, "text");
  json_set(output, "data", data);
  add(&told, "", output);
  CLEANUP(json_done) struct json *list = late_told_take(&told);
  assert_int_equal(json_length(list), 1);
  assert_non_null(strstr(text_at(list, 0), "1 more late output is"));
  assert_non_null(strstr(text_at(list, 0), "event log"));
}

static void there_are_not_too_many(void **state) {
  (void)state;
  struct late_told told = {0};
  for (size_t i = 0; i < LATE_TOLD_MOST + 5; i++)
    add(&told, RUN, stream('a', 1));
  CLEANUP(json_done) struct json *list = late_told_take(&told);
  assert_int_equal(json_length(list), LATE_TOLD_MOST + 1);
  assert_non_null(strstr(text_at(list, LATE_TOLD_MOST), "5 more"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_late_is_nothing),
      cmocka_unit_test(what_fits_is_told_whole),
      cmocka_unit_test(of_more_the_beginning_is_told_and_where_the_rest_is),
      cmocka_unit_test(a_character_is_not_cut),
      cmocka_unit_test(a_large_display_is_left_out),
      cmocka_unit_test(there_are_not_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
