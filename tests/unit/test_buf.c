/* Buffers with a cap, errors that travel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/err.h"

static void buf_keeps_its_cap(void **state) {
  (void)state;
  struct buf buf = BUF_INIT(5);
  assert_int_equal(buf_text(&buf, "abc"), 0);
  assert_int_equal(buf_text(&buf, "def"), -1);
  assert_true(buf.overflowed);
  assert_string_equal(buf_string(&buf), "abc");
  assert_int_equal(buf_text(&buf, "de"), 0);
  assert_string_equal(buf_string(&buf), "abcde");
  buf_free(&buf);
  assert_string_equal(buf_string(&buf), "");
}

static void errors_wrap(void **state) {
  (void)state;
  struct err err = {0};
  assert_int_equal(err_set(&err, ERR_BUSY, "queue of %d full", 3), -1);
  assert_int_equal(err_wrap(&err, "task %s", "demo"), -1);
  assert_string_equal(err.text, "task demo: queue of 3 full");
  assert_int_equal(err.kind, ERR_BUSY);
  err_errno(&err, ERR_IO, 28, "write");
  assert_int_equal(err.kind, ERR_NO_SPACE);
  err_errno(&err, ERR_IO, EROFS, "write");
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  assert_string_equal(err.text,
                      "write: Read-only file system: make it writable");
  err_errno(&err, ERR_DENIED, EIO, "write");
  assert_int_equal(err.kind, ERR_DENIED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buf_keeps_its_cap),
      cmocka_unit_test(errors_wrap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
