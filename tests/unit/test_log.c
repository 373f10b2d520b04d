/* Log lines that cannot be forged, and the UTF-8 steps they are made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/log.h"

/* A datagram socket keeps the border of each write. */
static int ends[2];
static char line[BUF_LINE * 2];

static int open_ends(void **state) {
  (void)state;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) != 0)
    return -1;
  log_init(ends[1], LOG_LEVEL_INFO, "test");
  return 0;
}

static int close_ends(void **state) {
  (void)state;
  log_init(STDERR_FILENO, LOG_LEVEL_INFO, "test");
  log_set_request(NULL);
  log_set_task(NULL);
  log_set_run(NULL);
  close(ends[0]);
  return close(ends[1]);
}

/* The next line without its time; NULL: nothing was written. */
static const char *next_line(void) {
  ssize_t length = read(ends[0], line, sizeof line - 1);
  if (length < 0)
    return NULL;
  line[length] = '\0';
  assert_true(length <= (ssize_t)BUF_LINE);
  assert_ptr_equal(strchr(line, '\n'), line + length - 1);
  assert_int_equal(line[26], 'Z');
  return line + 28;
}

static void a_line_has_level_ids_and_text(void **state) {
  (void)state;
  log_info("hello %d", 5);
  assert_string_equal(next_line(), "info program=test text=\"hello 5\"\n");
  log_set_request("r-1");
  log_set_task("Demo.x_2");
  log_set_run("0190");
  log_error("e");
  assert_string_equal(next_line(), "error program=test request=r-1 "
                                   "task=Demo.x_2 run=0190 text=\"e\"\n");
  log_set_task(NULL);
  log_warning("w");
  assert_string_equal(next_line(),
                      "warning program=test request=r-1 run=0190 text=\"w\"\n");
}

static void a_value_cannot_end_a_line_or_imitate_a_field(void **state) {
  (void)state;
  log_set_request("a\" run=\"forged\n2026");
  log_info("%s", "x\" run=7\r\n\t\\ \x1b[2J\x7f\x01 \xff\xc3 \xc3\xa9 \xc2\x85 "
                 "\xe2\x80\xa8\xe2\x80\xae.");
  assert_string_equal(
      next_line(),
      "info program=test request=\"a\\\" run=\\\"forged\\n2026\" "
      "text=\"x\\\" run=7\\r\\n\\t\\\\ \\x1b[2J\\x7f\\x01 \\xff\\xc3 \xc3\xa9 "
      "\\xc2\\x85 \\xe2\\x80\\xa8\\xe2\\x80\\xae.\"\n");
  assert_null(next_line());
}

static void an_empty_text_is_a_text(void **state) {
  (void)state;
  log_info("%s", "");
  assert_string_equal(next_line(), "info program=test text=\"\"\n");
}

static void levels_below_the_threshold_are_silent(void **state) {
  (void)state;
  log_debug("hidden");
  assert_null(next_line());
  log_init(ends[1], LOG_LEVEL_ERROR, "test");
  log_warning("hidden");
  assert_null(next_line());
  log_init(ends[1], LOG_LEVEL_DEBUG, "test");
  log_debug("seen");
  assert_non_null(next_line());
}

static void a_long_text_is_cut(void **state) {
  (void)state;
  static char text[100000];
  static const char fills[] = {'x', '\n', '\xff'};
  for (size_t i = 0; i < sizeof fills; i++) {
    memset(text, fills[i], sizeof text - 1);
    log_info("%s", text);
    const char *got = next_line();
    assert_non_null(got);
    const char *end = "\xe2\x80\xa6\"\n";
    assert_string_equal(got + strlen(got) - strlen(end), end);
    assert_true(strlen(line) > BUF_LINE - 8);
  }
}

static void long_ids_are_cut(void **state) {
  (void)state;
  char id[500];
  memset(id, '\n', sizeof id);
  id[499] = '\0';
  log_set_request(id);
  log_set_task(id);
  log_set_run(id);
  log_info("text");
  const char *got = next_line();
  assert_non_null(got);
  assert_non_null(strstr(got, " text=\"text\"\n"));
  assert_int_equal(strlen(got),
                   strlen("info program=test request=\"\" task=\"\" run=\"\" "
                          "text=\"text\"\n") +
                       3 * 2 * 128);
}

static void errno_is_kept(void **state) {
  (void)state;
  errno = ENOSPC;
  log_init(-1, LOG_LEVEL_INFO, "test");
  log_error("to nowhere");
  assert_int_equal(errno, ENOSPC);
}

static void *log_elsewhere(void *argument) {
  log_info("other thread");
  return argument;
}

static void ids_belong_to_a_thread(void **state) {
  (void)state;
  log_set_task("mine");
  pthread_t thread;
  pthread_create(&thread, NULL, log_elsewhere, NULL);
  pthread_join(thread, NULL);
  assert_string_equal(next_line(), "info program=test text=\"other thread\"\n");
  log_info("this thread");
  assert_string_equal(next_line(),
                      "info program=test task=mine text=\"this thread\"\n");
}

static void level_names_are_known(void **state) {
  (void)state;
  enum log_level level = LOG_LEVEL_INFO;
  assert_false(log_level_from_name("Info", &level));
  assert_int_equal(level, LOG_LEVEL_INFO);
  assert_true(log_level_from_name("debug", &level));
  assert_int_equal(level, LOG_LEVEL_DEBUG);
  assert_true(log_level_from_name("error", &level));
  assert_int_equal(level, LOG_LEVEL_ERROR);
}

int main(void) {
#define WITH_ENDS(test)                                                        \
  cmocka_unit_test_setup_teardown(test, open_ends, close_ends)
  const struct CMUnitTest tests[] = {
      WITH_ENDS(a_line_has_level_ids_and_text),
      WITH_ENDS(a_value_cannot_end_a_line_or_imitate_a_field),
      WITH_ENDS(an_empty_text_is_a_text),
      WITH_ENDS(levels_below_the_threshold_are_silent),
      WITH_ENDS(a_long_text_is_cut),
      WITH_ENDS(long_ids_are_cut),
      WITH_ENDS(errno_is_kept),
      WITH_ENDS(ids_belong_to_a_thread),
      cmocka_unit_test(level_names_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
