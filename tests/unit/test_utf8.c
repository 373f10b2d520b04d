/* UTF-8 against the table of the Unicode standard and Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define U_FFFD "\xEF\xBF\xBD"
/* A literal with its length, so that it may hold NULs. */
#define TEXT(literal) (literal), sizeof(literal) - 1

/* The bits of a code point in 1 to 4 bytes, well formed or not. */
static void encode(unsigned point, size_t length, char bytes[4]) {
  static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length; i-- > 1; point >>= 6)
    bytes[i] = (char)(0x80 | (point & 0x3f));
  bytes[0] = (char)(leads[length] | point);
}

static void exactly_the_well_formed_is_a_character(void **state) {
  (void)state;
  static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  static const unsigned most[] = {0, 0x7f, 0x7ff, 0xffff, 0x1fffff};
  for (size_t length = 1; length <= 4; length++) {
    for (unsigned point = 0; point <= most[length]; point++) {
      char bytes[4];
      encode(point, length, bytes);
      bool well = point >= least[length] && point <= 0x10ffff &&
                  !(point >= 0xd800 && point <= 0xdfff);
      if (utf8_length(bytes, length) != (well ? length : 0))
        fail_msg("U+%04X in %zu bytes", point, length);
      if (well && length > 1)
        assert_int_equal(utf8_length(bytes, length - 1), 0);
    }
  }
  assert_int_equal(utf8_length("", 0), 0);
  assert_int_equal(utf8_length("\x80", 1), 0);
  assert_int_equal(utf8_length("\xc3(", 2), 0);
  assert_int_equal(utf8_length("\xf5\x80\x80\x80", 4), 0);
}

static void controls_are_known(void **state) {
  (void)state;
  for (unsigned point = 0; point <= 0xffff; point++) {
    char bytes[4];
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : 3;
    encode(point, length, bytes);
    bool control = point < 0x20 || (point >= 0x7f && point < 0xa0) ||
                   (point >= 0x2028 && point <= 0x202e) ||
                   (point >= 0x2066 && point <= 0x2069);
    if (utf8_is_control(bytes, length) != control)
      fail_msg("U+%04X", point);
  }
}

static void utf8_is_judged_and_repaired_as_python_does(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t length;
    const char *repaired; /* NULL: valid as it is */
  } cases[] = {
      {TEXT(""), NULL},
      {TEXT("plain \"quoted\"\n\\"), NULL},
      {TEXT("\xC2\x80\xDF\xBF"), NULL},
      {TEXT("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"), NULL},
      {TEXT("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), NULL},
      {TEXT("\x80"), U_FFFD},
      {TEXT("a\xC1\xBFz"), "a" U_FFFD U_FFFD "z"},
      {TEXT("\xC3"), U_FFFD},
      {TEXT("\xC3("), U_FFFD "("},
      {TEXT("\xE0\x9F\xBF"), U_FFFD U_FFFD U_FFFD},
      {TEXT("\xE2\x82z"), U_FFFD "z"},
      {TEXT("\xED\xA0\xBD\xED\xB8\x80"),
       U_FFFD U_FFFD U_FFFD U_FFFD U_FFFD U_FFFD},
      {TEXT("\xF0\x8F\xBF\xBF"), U_FFFD U_FFFD U_FFFD U_FFFD},
      {TEXT("\xF0\x9F\x98z"), U_FFFD "z"},
      {TEXT("\xF4\x90\x80\x80"), U_FFFD U_FFFD U_FFFD U_FFFD},
      {TEXT("\xF5\x80\xFE\xFF"), U_FFFD U_FFFD U_FFFD U_FFFD},
      {TEXT("12345678\xE9tail of Latin-1"),
       "12345678" U_FFFD "tail of Latin-1"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *bytes = cases[i].bytes;
    size_t length = cases[i].length;
    bool valid = cases[i].repaired == NULL;
    CLEANUP(buf_free) struct buf out = BUF_INIT(100);
    assert_int_equal(utf8_is_valid(bytes, length), valid);
    assert_int_equal(utf8_repair(bytes, length, &out), 0);
    assert_string_equal(buf_string(&out), valid ? bytes : cases[i].repaired);
  }
}

static void repair_into_a_full_buffer_changes_nothing(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(4);
  assert_int_equal(buf_text(&out, "x"), 0);
  assert_int_equal(utf8_repair(TEXT("y\xFF"), &out), -1);
  assert_string_equal(buf_string(&out), "x");
}

static void characters_are_encoded_counted_and_cut(void **state) {
  (void)state;
  static const uint32_t points[] = {'a', 0xE9, 0x20AC, 0x1F600};
  char text[16];
  size_t length = 0;
  for (size_t i = 0; i < COUNT_OF(points); i++)
    length += utf8_encode(points[i], text + length);
  assert_int_equal(length, 10);
  assert_memory_equal(text, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10);
  assert_int_equal(utf8_count(text, length), 4);
  static const size_t offsets[] = {0, 1, 3, 6, 10, 10};
  for (size_t count = 0; count < COUNT_OF(offsets); count++)
    assert_int_equal(utf8_offset(text, length, count), offsets[count]);
  static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (size_t most = 0; most < COUNT_OF(cuts); most++)
    assert_int_equal(utf8_cut(text, length, most), cuts[most]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exactly_the_well_formed_is_a_character),
      cmocka_unit_test(controls_are_known),
      cmocka_unit_test(utf8_is_judged_and_repaired_as_python_does),
      cmocka_unit_test(repair_into_a_full_buffer_changes_nothing),
      cmocka_unit_test(characters_are_encoded_counted_and_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
