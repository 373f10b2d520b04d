/* Digests and base64 against known values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/crypto.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hmac_matches_rfc_4231_case_2),
      cmocka_unit_test(sha256_of_nothing),
      cmocka_unit_test(base64_there_and_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
