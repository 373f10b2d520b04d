/* How a kernel's end is told, and when an idle one is ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/keeper/cull.h"
#include "core/keeper/kernels/ending.h"

static void endings_are_told_in_words(void **state) {
  (void)state;
  struct exit_record exited = {.exit_code = 7};
  struct exit_record killed = {.exit_code = -1, .signal = 9};
  struct exit_record crashed = {.exit_code = -1, .signal = 6};
  struct exit_record odd = {.exit_code = -1, .signal = 40};
  struct ending ending = ending_of(KERNEL_END_NONE, "", &exited);
  assert_int_equal(ending.end, KERNEL_END_EXIT);
  assert_int_equal(ending.exit_code, 7);
  assert_string_equal(ending.reason, "It ended by itself with exit code 7.");
  ending = ending_of(KERNEL_END_NONE, "", &killed);
  assert_int_equal(ending.end, KERNEL_END_SIGNAL);
  assert_int_equal(ending.exit_code, -1);
  assert_int_equal(ending.signal, 9);
  ending = ending_of(KERNEL_END_NONE, "", &crashed);
  assert_string_equal(ending.reason,
                      "It crashed: signal 6 (SIGABRT, Aborted).");
  ending = ending_of(KERNEL_END_NONE, "", &odd);
  assert_int_equal(ending.signal, 40);
  ending = ending_of(KERNEL_END_NONE, "", NULL);
  assert_int_equal(ending.end, KERNEL_END_VANISHED);
  assert_int_equal(ending.exit_code, -1);
}

static void who_asked_overrides_the_record(void **state) {
  (void)state;
  struct exit_record killed = {.exit_code = -1, .signal = 15};
  struct ending ending = ending_of(KERNEL_END_STOPPED, "Enough.", &killed);
  assert_int_equal(ending.end, KERNEL_END_STOPPED);
  assert_int_equal(ending.signal, 15);
  assert_string_equal(ending.reason, "Enough.");
  ending = ending_of(KERNEL_END_CULLED, "", NULL);
  assert_string_equal(ending.reason, "It was unused for too long.");
}

static void only_some_ends_can_be_asked_for(void **state) {
  (void)state;
  assert_int_equal(ending_parse("stopped"), KERNEL_END_STOPPED);
  assert_int_equal(ending_parse("start"), KERNEL_END_START);
  assert_int_equal(ending_parse("exit"), KERNEL_END_NONE);
  assert_int_equal(ending_parse("oom"), KERNEL_END_NONE);
  assert_int_equal(ending_parse(""), KERNEL_END_NONE);
}

static void idle_is_counted_from_the_last_use(void **state) {
  (void)state;
  const int64_t now = 100 * CLOCK_S, wall = INT64_C(1700000000000000);
  /* Nothing new in the table, whatever the clock on the wall says. */
  assert_int_equal(cull_used_at(5, 70, 70, now, wall, 60), 5);
  assert_int_equal(cull_used_at(5, 70, 70, now, wall + 3600000000, 60), 5);
  /* A run since the last look. */
  assert_int_equal(cull_used_at(5, 70, 71, now, wall, 60), now);
  /* The first look: a second ago; an hour ago counts as half the timeout; a
   * clock that was set back counts as now. */
  assert_int_equal(cull_used_at(now, -1, wall - 1000000, now, wall, 60),
                   now - CLOCK_S);
  assert_int_equal(cull_used_at(now, -1, wall - 3600000000, now, wall, 60),
                   now - 30 * CLOCK_S);
  assert_int_equal(cull_used_at(now, -1, wall + 3600000000, now, wall, 60),
                   now);
  assert_int_equal(cull_interval_ns(3600), 5 * CLOCK_S);
  assert_int_equal(cull_interval_ns(4), CLOCK_S);
  assert_int_equal(cull_interval_ns(0.01), CLOCK_S / 10);
}

static void what_was_asked_for_is_kept(void **state) {
  (void)state;
  char path[] = "/tmp/cellpost-test-XXXXXX", reason[256] = "";
  assert_non_null(mkdtemp(path));
  CLEANUP(mem_close_descriptor)
  int directory = open(path, O_RDONLY | O_DIRECTORY);
  assert_int_equal(ending_read_asked(directory, reason, sizeof reason),
                   KERNEL_END_NONE);
  ending_write_asked(directory, KERNEL_END_CULLED, "Two\nlines.");
  assert_int_equal(ending_read_asked(directory, reason, sizeof reason),
                   KERNEL_END_CULLED);
  assert_string_equal(reason, "Two\nlines.");
  unlinkat(directory, "asked", 0);
  rmdir(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(endings_are_told_in_words),
      cmocka_unit_test(who_asked_overrides_the_record),
      cmocka_unit_test(only_some_ends_can_be_asked_for),
      cmocka_unit_test(idle_is_counted_from_the_last_use),
      cmocka_unit_test(what_was_asked_for_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
