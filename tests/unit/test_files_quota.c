/* What fits among a task's files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/run/files/files_place.h"
#include "core/run/files/files_quota.h"

static int check(int64_t bytes, int64_t files, struct json **details,
                 struct err *err) {
  const struct files_quota quota = {.most = {1000, 10}, .used = {900, 10}};
  return files_quota_check(&quota, (struct fs_usage){bytes, files}, details,
                           err);
}

static void what_fits_is_let_in(void **state) {
  (void)state;
  struct err err;
  assert_int_equal(check(100, 0, NULL, &err), 0);
  assert_int_equal(check(0, 0, NULL, &err), 0);
  assert_int_equal(check(-5000, -1, NULL, &err), 0);
}

static void what_does_not_is_told_with_the_figures(void **state) {
  (void)state;
  struct err err;
  CLEANUP(json_done) struct json *details = NULL;
  assert_int_equal(check(101, 0, &details, &err), -1);
  assert_int_equal(err.kind, ERR_NO_SPACE);
  assert_string_equal(json_get_text(details, "limit"), "workspace_bytes");
  assert_int_equal(json_get_integer(details, "most", 0), 1000);
  assert_int_equal(json_get_integer(details, "used", 0), 900);
  assert_int_equal(json_get_integer(details, "needed", 0), 101);
  assert_int_equal(check(0, 1, &details, &err), -1);
  assert_string_equal(json_get_text(details, "limit"), "workspace_files");
  assert_int_equal(check(INT64_MAX, 0, NULL, &err), -1);
}

static void paths_are_made_of_names(void **state) {
  (void)state;
  static const char *const good[] = {"a",      "a/b",      ".env",
                                     ".a/..b", "\xc3\xa9", "a b"};
  static const char *const bad[] = {"",     "/a",   "a/",   "a//b", ".",
                                    "..",   "a/..", "./a",  "a\nb", "\x7f",
                                    "\xff", "a/.",  "\x01a"};
  for (size_t i = 0; i < COUNT_OF(good); i++)
    assert_int_equal(files_place_check(good[i], NULL), 0);
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    assert_int_equal(files_place_check(bad[i], NULL), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_fits_is_let_in),
      cmocka_unit_test(what_does_not_is_told_with_the_figures),
      cmocka_unit_test(paths_are_made_of_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
