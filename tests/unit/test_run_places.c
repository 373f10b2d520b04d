/* Threads that runs may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/http/run_places.h"

static void runs_do_not_get_every_thread(void **state) {
  (void)state;
  static const long rows[][2] = {{1, 1},  {2, 1},   {9, 1},     {10, 2},
                                 {12, 4}, {32, 24}, {256, 192}, {4096, 3072}};
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    assert_int_equal(run_places_of(rows[i][0]), rows[i][1]);
}

static void a_place_too_many_is_refused(void **state) {
  (void)state;
  struct run_places places = {0};
  struct err err = {0};
  run_places_open(&places, 10);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), -1);
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  assert_non_null(strstr(err.text, "\"threads\" (now 10)"));
  run_places_give(&places);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_do_not_get_every_thread),
      cmocka_unit_test(a_place_too_many_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
