/* buf, id, crypto and clock against known values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/err.h"
#include "core/base/id.h"

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

static void hmac_matches_rfc_4231_case_2(void **state) {
  (void)state;
  struct crypto_part parts[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
  char hex[CRYPTO_SHA256_HEX];
  crypto_hmac_sha256("Jefe", 4, parts, 2, hex);
  assert_string_equal(
      hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void sha256_of_nothing(void **state) {
  (void)state;
  char hex[CRYPTO_SHA256_HEX];
  crypto_sha256("", 0, hex);
  assert_string_equal(
      hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void base64_there_and_back(void **state) {
  (void)state;
  for (size_t size = 0; size < 70; size++) {
    unsigned char bytes[70];
    crypto_random(bytes, sizeof bytes);
    struct buf text = BUF_INIT(1000), back = BUF_INIT(1000);
    assert_int_equal(crypto_base64_encode(bytes, size, &text), 0);
    assert_int_equal(text.length, (size + 2) / 3 * 4);
    assert_int_equal(
        crypto_base64_decode(buf_string(&text), text.length, &back), 0);
    assert_int_equal(back.length, size);
    assert_memory_equal(buf_string(&back), bytes, size);
    buf_free(&text);
    buf_free(&back);
  }
  struct buf out = BUF_INIT(100);
  assert_int_equal(crypto_base64_decode("aG\nk=\n", 6, &out), 0);
  assert_string_equal(buf_string(&out), "hi");
  assert_int_equal(crypto_base64_decode("a", 1, &out), -1);
  assert_int_equal(crypto_base64_decode("aG!=", 4, &out), -1);
  assert_int_equal(crypto_base64_decode("aG=k", 4, &out), -1);
  buf_free(&out);
}

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

static void errors_wrap(void **state) {
  (void)state;
  struct err err = {0};
  assert_int_equal(err_set(&err, ERR_BUSY, "queue of %d full", 3), -1);
  assert_int_equal(err_wrap(&err, "task %s", "demo"), -1);
  assert_string_equal(err.text, "task demo: queue of 3 full");
  assert_int_equal(err.kind, ERR_BUSY);
  err_errno(&err, ERR_IO, 28, "write");
  assert_int_equal(err.kind, ERR_NO_SPACE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buf_keeps_its_cap),
      cmocka_unit_test(hmac_matches_rfc_4231_case_2),
      cmocka_unit_test(sha256_of_nothing),
      cmocka_unit_test(base64_there_and_back),
      cmocka_unit_test(ids_are_sortable_and_checked),
      cmocka_unit_test(iso_times),
      cmocka_unit_test(errors_wrap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
