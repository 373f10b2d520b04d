/* Times and ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/id.h"

static void ids_are_sortable_and_checked(void **state) {
  (void)state;
  char before[ID_UUID_SIZE], after[ID_UUID_SIZE];
  id_new(before);
  for (int i = 0; i < 10000; i++) {
    id_new(after);
    assert_true(strcmp(before, after) < 0);
    assert_true(id_is_uuid(after));
    memcpy(before, after, sizeof before);
  }
  assert_true(id_is_task("a"));
  assert_true(id_is_task("Demo-1.x_y"));
  assert_false(id_is_task(""));
  assert_false(id_is_task("."));
  assert_false(id_is_task("../x"));
  assert_false(id_is_task("a..b"));
  assert_false(id_is_task("a/b"));
  assert_false(id_is_task("\xc3\xa9"));
  char longest[ID_TASK_SIZE + 1];
  memset(longest, 'a', sizeof longest);
  longest[128] = '\0';
  assert_true(id_is_task(longest));
  longest[128] = 'a';
  longest[129] = '\0';
  assert_false(id_is_task(longest));
}

static void iso_times(void **state) {
  (void)state;
  char text[CLOCK_ISO_SIZE];
  clock_format_iso(INT64_C(1796068798219554), text);
  assert_string_equal(text, "2026-11-30T19:59:58.219554Z");
  clock_format_iso(-1, text);
  assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_sortable_and_checked),
      cmocka_unit_test(iso_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
