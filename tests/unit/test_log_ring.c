/* The log of a kernel, which cannot grow beyond its cap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/process/log_ring.h"

/* The log holds the end of what was written, whatever the pieces. */
static void the_ring_keeps_the_end(void **state) {
  (void)state;
  static char written[5 * LOG_RING_FILE];
  for (size_t i = 0; i < sizeof written; i++)
    written[i] = (char)('a' + i * 7 % 26);
  static const size_t pieces[] = {1000, LOG_RING_FILE, LOG_RING_FILE + 1,
                                  3 * LOG_RING_FILE};
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    char path[] = "/tmp/cellpost-test-XXXXXX";
    assert_non_null(mkdtemp(path));
    CLEANUP(mem_close_descriptor)
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    struct log_ring ring;
    assert_int_equal(log_ring_open(directory, &ring, NULL), 0);
    for (size_t at = 0; at < sizeof written; at += pieces[i]) {
      size_t left = sizeof written - at;
      log_ring_write(&ring, written + at, left < pieces[i] ? left : pieces[i]);
      CLEANUP(buf_free) struct buf text = BUF_INIT(2 * LOG_RING_FILE);
      assert_int_equal(log_ring_read(directory, &text), 0);
      size_t done = at + (left < pieces[i] ? left : pieces[i]);
      assert_true(text.length == done || text.length >= LOG_RING_FILE);
      assert_memory_equal(text.data, written + done - text.length, text.length);
    }
    log_ring_close(&ring);
    unlinkat(directory, "log.0", 0);
    unlinkat(directory, "log.1", 0);
    rmdir(path);
  }
}

static void a_tail_is_text(void **state) {
  (void)state;
  char path[] = "/tmp/cellpost-test-XXXXXX", tail[16];
  assert_non_null(mkdtemp(path));
  CLEANUP(mem_close_descriptor)
  int directory = open(path, O_RDONLY | O_DIRECTORY);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail, "");
  struct log_ring ring;
  assert_int_equal(log_ring_open(directory, &ring, NULL), 0);
  log_ring_write(&ring, "a\0b\xff", 4);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail, "a b\xef\xbf\xbd");
  log_ring_write(&ring,
                 "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2"
                 "\x82\xac!",
                 16);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail,
                      "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac!");
  log_ring_close(&ring);
  unlinkat(directory, "log.0", 0);
  unlinkat(directory, "log.1", 0);
  rmdir(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_ring_keeps_the_end),
      cmocka_unit_test(a_tail_is_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
