/* process.h against this process and children of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process/process.h"

static pid_t waiting_child(void) {
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  assert_true(child > 0);
  return child;
}

static void this_process_is_alive(void **state) {
  (void)state;
  int64_t start = process_start_time(getpid());
  assert_true(start > 0);
  assert_true(process_is_alive(getpid(), start));
  assert_false(process_is_alive(getpid(), start + 1));
  assert_int_equal(process_open(getpid(), start + 1), -1);
}

static void a_hostile_name_does_not_shift_the_fields(void **state) {
  (void)state;
  int64_t start = process_start_time(getpid());
  prctl(PR_SET_NAME, "a) Z 1 (b) c");
  assert_int_equal(process_start_time(getpid()), start);
  assert_true(process_is_alive(getpid(), start));
}

static void nobody_is_not_alive(void **state) {
  (void)state;
  int64_t cpu, peak;
  assert_int_equal(process_start_time(0), -1);
  assert_int_equal(process_start_time(-5), -1);
  assert_int_equal(process_start_time(INT64_C(99999999999)), -1);
  assert_int_equal(process_open(0, 0), -1);
  assert_int_equal(process_usage(-1, &cpu, &peak), -1);
}

static void a_zombie_is_not_alive_and_its_pidfd_is_readable(void **state) {
  (void)state;
  pid_t child = waiting_child();
  int64_t start = process_start_time(child);
  int descriptor = process_open(child, start);
  assert_true(descriptor >= 0);
  struct pollfd poll_fd = {.fd = descriptor, .events = POLLIN};
  assert_int_equal(poll(&poll_fd, 1, 0), 0);
  kill(child, SIGKILL);
  assert_int_equal(poll(&poll_fd, 1, 10000), 1);
  assert_false(process_is_alive(child, start));
  waitpid(child, NULL, 0);
  assert_int_equal(process_open(child, start), -1);
  close(descriptor);
}

static void usage_grows_with_work(void **state) {
  (void)state;
  int64_t before, after, peak = 0;
  assert_int_equal(process_usage(getpid(), &before, &peak), 0);
  assert_true(peak > 100000);
  assert_true(process_memory(getpid()) > 100000);
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 20000000; i++)
    sum += i;
  assert_int_equal(process_usage(getpid(), &after, &peak), 0);
  assert_true(after > before);
}

static void ignore(int number) { (void)number; }

static void a_handler_is_seen(void **state) {
  (void)state;
  assert_false(process_catches(getpid(), SIGUSR2));
  signal(SIGUSR2, ignore);
  assert_true(process_catches(getpid(), SIGUSR2));
  signal(SIGUSR2, SIG_IGN);
  assert_false(process_catches(getpid(), SIGUSR2));
  signal(SIGUSR2, SIG_DFL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(this_process_is_alive),
      cmocka_unit_test(a_hostile_name_does_not_shift_the_fields),
      cmocka_unit_test(nobody_is_not_alive),
      cmocka_unit_test(a_zombie_is_not_alive_and_its_pidfd_is_readable),
      cmocka_unit_test(usage_grows_with_work),
      cmocka_unit_test(a_handler_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
