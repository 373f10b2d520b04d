/* Control sequences read and taken out of a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/text/ansi.h"

static void sequences_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum ansi_kind kind;
    size_t length;
    char final;
    size_t parameters, number;
  } rows[] = {
      {"\x1b[12;3Hx", ANSI_COMPLETE, 7, 'H', 4, 12},
      {"\x1b[m", ANSI_COMPLETE, 3, 'm', 0, 0},
      {"\x1b[?25l", ANSI_COMPLETE, 6, '\0', 3, 0},
      {"\x1b[4 q", ANSI_COMPLETE, 5, '\0', 1, 4},
      {"\xc2\x9b"
       "7A",
       ANSI_COMPLETE, 4, 'A', 1, 7},
      {"\xc2\x85x", ANSI_COMPLETE, 2, '\0', 0, 0},
      {"\x1b(Bx", ANSI_COMPLETE, 3, '\0', 0, 0},
      {"\x1b=x", ANSI_COMPLETE, 2, '\0', 0, 0},
      {"\x1b]0;a\ax", ANSI_COMPLETE, 6, '\0', 0, 0},
      {"\x1b", ANSI_INCOMPLETE, 1, '\0', 0, 0},
      {"\x1b[1", ANSI_INCOMPLETE, 3, '\0', 0, 0},
      {"\x1b]a\x1b", ANSI_INCOMPLETE, 4, '\0', 0, 0},
      {"\x1b[1\n", ANSI_BROKEN, 3, '\0', 0, 0},
      {"\x1b]a\n", ANSI_BROKEN, 2, '\0', 0, 0},
      {"\x1b\n", ANSI_BROKEN, 1, '\0', 0, 0},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct ansi_sequence got;
    assert_int_equal(ansi_read(rows[i].text, strlen(rows[i].text), &got),
                     rows[i].kind);
    assert_int_equal(got.length, rows[i].length);
    assert_int_equal(got.final, rows[i].final);
    assert_int_equal(got.parameters_length, rows[i].parameters);
    assert_int_equal(got.number, rows[i].number);
  }
}

/* A sequence that never ends is one no longer after 2048 bytes. */
static void endless_sequences_are_broken(void **state) {
  (void)state;
  static const char *const starts[] = {"\x1b[", "\x1b]", "\x1b("};
  for (size_t i = 0; i < COUNT_OF(starts); i++) {
    char text[2048];
    memset(text, i == 1 ? 'x' : i == 0 ? '1' : ' ', sizeof text);
    memcpy(text, starts[i], 2);
    struct ansi_sequence got;
    assert_int_equal(ansi_read(text, sizeof text, &got), ANSI_BROKEN);
    assert_int_equal(ansi_read(text, 100, &got), ANSI_INCOMPLETE);
  }
}

static void control_is_stripped(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } cases[] = {
      {"\x1b[0;31mred\x1b[0m", "red"},
      {"\x1b[38;5;28;01mdef\x1b[39;00m f", "def f"},
      {"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"},
      {"a\x1b]0;title\x07z", "az"},
      {"\x1b(Bx\x1b=y\x1b>z", "xyz"},
      {"tab\tline\nbell\x07\r\x7f.", "tab\tline\nbell."},
      {"\xc2\x9b"
       "31mred\xc2\x85",
       "red"},
      {"caf\xc3\xa9 \xc2\xa0 ☃", "caf\xc3\xa9 \xc2\xa0 ☃"},
      {"end\x1b", "end"},
      {"end\x1b[", "end"},
      {"end\x1b[31", "end"},
      {"\x1b]no end\nnext", "no end\nnext"},
      {"\x1b]no end", ""},
      {"\x1bPdata\x1b\\x\x1b^data\xc2\x9cy", "xy"},
      {"\x1b]one\x1b]two\ax", "onex"},
      {"\x1b]é\xc2\xa0\ax", "x"},
      {"\x1b\x1b[mx", "x"},
      {"\x1b#8x\x1b\n", "x\n"},
      {"\x1b[31\nm", "\nm"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct buf out = BUF_INIT(BUF_LINE);
    assert_int_equal(ansi_strip(cases[i].from, strlen(cases[i].from), &out), 0);
    assert_string_equal(buf_string(&out), cases[i].to);
    buf_free(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequences_are_read),
      cmocka_unit_test(endless_sequences_are_broken),
      cmocka_unit_test(control_is_stripped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
