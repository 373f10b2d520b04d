/* The terminal's view: what is shown, what is kept, what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/notebook/terminal/terminal.h"

#define GREEN "\x1b[32m"
#define RED "\x1b[31m"
#define PLAIN "\x1b[0m"
#define UP "\x1b[A"

static const struct {
  const char *written, *shown;
} views[] = {
    {"", ""},
    {"hi\n", "hi\n"},
    {"\r0%\r1%\r2%\r3%\r4%", "4%"},
    {"a\r\n", "a\n"},
    {"a\r\r\nb", "a\nb"},
    {"hello\rab", "abllo"},
    {"hello\r", "hello"},
    {"hello\r\n", "hello\n"},
    {"abc\b", "abc"},
    {"abc\b\bX", "aXc"},
    {"abc\b\b\b\b\bX", "Xbc"},
    {"ab\n\bX", "ab\nX"},
    {"hello\r\x1b[Kab", "ab"},
    {"hello\b\b\x1b[K", "hel"},
    {"hello\b\b\x1b[1K!", "   !o"},
    {"hello\x1b[2K\rab", "ab"},
    {"hello\x1b[K", "hello"},
    {"50 %\r\x1b[Kdone\n", "done\n"},
    {"é€😀x\rab", "ab😀x"},
    {"é€😀\b*", "é€*"},
    {"\x1b[5Cx", "     x"},
    {"abc\x1b[1GX\x1b[2DY", "Ybc"},
    {"abc\x1b[1GX\x1b[DY", "Ybc"},
    /* colours stand where they stood; written over, they go with their text */
    {GREEN "ok" PLAIN "\n", GREEN "ok" PLAIN "\n"},
    {GREEN "50%" PLAIN "\r" GREEN "60%" PLAIN, GREEN "60%" PLAIN},
    {RED "hello" PLAIN "\rX", "X" RED "ello" PLAIN},
    {"hello\r" RED "\nred", "hello" RED "\nred"},
    {"abc\r" RED "\x1b[1mX" PLAIN "\n", "\x1b[1;31mX" PLAIN "bc\n"},
    {"ab\r\x1b[38;5;208mX\x1b[48;2;1;2;3mY\x1b[m",
     "\x1b[38;5;208mX\x1b[48;2;1;2;3mY" PLAIN},
    {"ab\r\x1b[38:2::9:8:7mX\x1b[39mb", "\x1b[38;2;9;8;7mX" PLAIN "b"},
    {"ab\r\x1b[1;4mX\x1b[22mY\x1b[24m", "\x1b[1;4mX\x1b[0;4mY" PLAIN},
    /* nested progress bars move the cursor up */
    {"a 1%\nb 1%\r" UP "a 2%\nb 2%\r" UP "a 3%\nb 3%", "a 3%\nb 3%"},
    {"a\nb\nc" UP UP UP "X\n", "aX\nb\nc"},
    {"one\ntwo\n" UP UP "1", "1ne\ntwo\n"},
    {"one\ntwo\x1b[1F1\x1b[1E2", "1ne\n2wo"},
    /* without an effect on the text: gone. Broken ones stay. */
    {"\x1b[?25lx\x1b[?25h\x1b[2J\x1b[10;5Hy", "xy"},
    {"\x1b]0;title\ax\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\", "xlink"},
    {"\x1b(B\x1b[mx", "\x1b[mx"},
    {"a\x1b", "a"},
    {"a\x1b[3", "a"},
    {"a\x1b[3\nb", "a\x1b[3\nb"},
    {"a\x1b=b\x1bP+q\x1b\\c", "abc"},
    {"a\x1b\x01"
     "b",
     "a\x1b\x01"
     "b"},
    {"\x1b]0;no end\nx", "\x1b]0;no end\nx"},
    {"\v\f\x1c\x85\a", "\v\f\x1c\x85\a"},
};

static char *render(const struct terminal *terminal) {
  struct buf out = BUF_INIT(1 << 20);
  assert_int_equal(terminal_render(terminal, &out), 0);
  return buf_take(&out);
}

static void check(struct terminal *terminal, const char *shown) {
  char *text = render(terminal);
  assert_string_equal(text, shown);
  assert_int_equal(terminal_size(terminal), strlen(shown));
  assert_int_equal(terminal_dropped_bytes(terminal), 0);
  free(text);
  terminal_free(terminal);
}

static void shows_what_a_terminal_shows(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(views); i++) {
    struct terminal *terminal = terminal_new(1000, 1000);
    terminal_write(terminal, views[i].written, strlen(views[i].written));
    check(terminal, views[i].shown);
  }
}

static void does_not_care_how_the_text_is_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(views); i++) {
    const char *text = views[i].written;
    size_t length = strlen(text);
    for (size_t cut = 0; cut <= length; cut++) {
      if (((unsigned char)text[cut] & 0xc0) == 0x80)
        continue;
      struct terminal *terminal = terminal_new(1000, 1000);
      terminal_write(terminal, text, cut);
      terminal_write(terminal, text + cut, length - cut);
      check(terminal, views[i].shown);
    }
  }
}

static void a_long_progress_bar_stays_one_line(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(1000, 1000);
  char line[64];
  for (int i = 0; i <= 20000; i++) {
    snprintf(line, sizeof line, "\r" GREEN "%5d" PLAIN " of 20000", i);
    terminal_write(terminal, line, strlen(line));
  }
  check(terminal, GREEN "20000" PLAIN " of 20000");
}

static void write_lines(struct terminal *terminal, int from, int to) {
  for (int i = from; i < to; i++) {
    char line[64];
    snprintf(line, sizeof line, "line %04d\n", i);
    terminal_write(terminal, line, strlen(line));
  }
}

static void keeps_all_that_fits(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(100, 300);
  write_lines(terminal, 0, 40);
  assert_int_equal(terminal_size(terminal), 400);
  assert_int_equal(terminal_dropped_bytes(terminal), 0);
  terminal_write(terminal, "x", 1);
  assert_int_equal(terminal_size(terminal), 391);
  assert_int_equal(terminal_dropped_bytes(terminal), 10);
  assert_int_equal(terminal_dropped_lines(terminal), 1);
  terminal_free(terminal);
}

static void counts_what_it_drops(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(20, 40);
  write_lines(terminal, 0, 1000);
  char *text = render(terminal);
  assert_string_equal(text, "line 0000\nline 0001\n"
                            "[… 9940 bytes in 994 lines left out …]\n"
                            "line 0996\nline 0997\nline 0998\nline 0999\n");
  assert_int_equal(terminal_dropped_bytes(terminal), 9940);
  assert_int_equal(terminal_dropped_lines(terminal), 994);
  free(text);
  terminal_free(terminal);
}

static void cuts_one_long_line_inside(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(10, 10);
  for (int i = 0; i < 300000; i++)
    terminal_write(terminal, "y", 1);
  terminal_write(terminal, "\n", 1);
  char *text = render(terminal);
  assert_string_equal(text, "yyyyyyyyyy\n"
                            "[… 299981 bytes in 1 line left out …]\n"
                            "yyyyyyyyy\n");
  free(text);
  terminal_free(terminal);
}

static void one_write_or_many_give_the_same(void **state) {
  (void)state;
  size_t length = 300000;
  char *text = mem_array(length + 1, 1);
  for (size_t i = 0; i < length; i++)
    text[i] = i % 61 == 60 ? '\n' : (char)('a' + i % 26);
  struct terminal *once = terminal_new(5000, 15000);
  struct terminal *often = terminal_new(5000, 15000);
  terminal_write(once, text, length);
  for (size_t i = 0; i < length; i += 100)
    terminal_write(often, text + i, 100);
  assert_int_equal(terminal_size(once) + terminal_dropped_bytes(once), length);
  assert_int_equal(terminal_size(often) + terminal_dropped_bytes(often),
                   length);
  char *a = render(once), *b = render(often);
  assert_string_equal(a, b);
  assert_memory_equal(a, text, 4900);
  free(a);
  free(b);
  free(text);
  terminal_free(once);
  terminal_free(often);
}

static void never_cuts_a_character_or_a_colour(void **state) {
  (void)state;
  for (size_t tail = 12; tail < 40; tail++) {
    struct terminal *terminal = terminal_new(10, tail);
    for (int i = 0; i < 200; i++)
      terminal_write(terminal, GREEN "€é" PLAIN, 14);
    char *text = render(terminal);
    assert_true(terminal_size(terminal) <= 10 + tail);
    assert_int_equal(terminal_size(terminal) + terminal_dropped_bytes(terminal),
                     200 * 14);
    assert_memory_equal(text, GREEN "€", 8);
    const char *rest = strstr(text, "out …]\n");
    assert_non_null(rest);
    rest += strlen("out …]\n");
    assert_true(strncmp(rest, GREEN, 5) == 0 || strncmp(rest, PLAIN, 4) == 0 ||
                strncmp(rest, "€", 3) == 0 || strncmp(rest, "é", 2) == 0);
    free(text);
    terminal_free(terminal);
  }
}

static void shrinks_and_stays_exact(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(1000, 3000);
  write_lines(terminal, 0, 300);
  assert_int_equal(terminal_size(terminal), 3000);
  terminal_shrink(terminal, 1000, 1000);
  assert_int_equal(terminal_size(terminal), 2000);
  assert_int_equal(terminal_dropped_bytes(terminal), 1000);
  assert_int_equal(terminal_dropped_lines(terminal), 100);
  terminal_shrink(terminal, 100, 100);
  assert_int_equal(terminal_dropped_bytes(terminal), 2800);
  assert_int_equal(terminal_dropped_lines(terminal), 280);
  write_lines(terminal, 300, 310);
  char *text = render(terminal);
  assert_non_null(strstr(text, "line 0009\n[… 2900 bytes in 290 lines left out "
                               "…]\nline 0300\n"));
  free(text);
  terminal_free(terminal);
}

static void shrinks_a_text_without_a_gap(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(4000, 4000);
  write_lines(terminal, 0, 300);
  terminal_shrink(terminal, 100, 100);
  char *text = render(terminal);
  assert_non_null(strstr(text, "line 0009\n[… 2800 bytes in 280 lines left out "
                               "…]\nline 0290\n"));
  free(text);
  terminal_free(terminal);
}

/* What scrolls off in one write is the same as what scrolls off in many, and
 * what is still on the screen can be written over. */
static void a_screen_can_be_written_over_after_a_flood(void **state) {
  (void)state;
  for (int lines = 20; lines < 30; lines++) {
    CLEANUP(buf_free) struct buf flood = BUF_INIT(10000);
    CLEANUP(buf_free) struct buf want = BUF_INIT(10000);
    for (int i = 0; i < lines; i++)
      buf_format(&flood, "line %02d\n", i);
    buf_text(&flood, "end\x1b[23F*\r");
    for (int i = 0; i < lines; i++)
      buf_format(&want, "%cine %02d\n",
                 i == (lines < 23 ? 0 : lines - 23) ? '*' : 'l', i);
    buf_text(&want, "end");
    struct terminal *once = terminal_new(5000, 5000);
    terminal_write(once, "", 0);
    terminal_write(once, flood.data, flood.length);
    check(once, buf_string(&want));
    struct terminal *often = terminal_new(5000, 5000);
    for (size_t i = 0; i < flood.length; i++)
      terminal_write(often, flood.data + i, 1);
    check(often, buf_string(&want));
  }
}

/* Random writes, cursor movements and colours: the size is always that of the
 * view, however it was arrived at. */
static void the_size_is_that_of_the_view(void **state) {
  (void)state;
  static const char *const parts[] = {
      "abc",      "\n",      "\r",      "\b",      "x\ny\nz\n",
      "\x1b[31m", "\x1b[0m", "\x1b[2A", "\x1b[1B", "\x1b[K",
      "\x1b[2K",  "\x1b[5C", "é",       "\x1b[1m"};
  srand(20260102);
  for (int round = 0; round < 40; round++) {
    struct terminal *terminal = terminal_new(100000, 100000);
    for (int i = 0; i < 200; i++) {
      const char *part = parts[(size_t)rand() % COUNT_OF(parts)];
      terminal_write(terminal, part, strlen(part));
      CLEANUP(mem_free_pointer) char *text = render(terminal);
      assert_int_equal(terminal_size(terminal), strlen(text));
    }
    terminal_free(terminal);
  }
}

static void a_flood_costs_no_memory(void **state) {
  (void)state;
  struct terminal *terminal = terminal_new(1000, 3000);
  size_t length = 1 << 20;
  char *text = mem_array(length, 1);
  memset(text, 'x', length);
  for (int i = 0; i < 20; i++) {
    terminal_write(terminal, text, length);
    assert_true(terminal_size(terminal) <= 4000);
  }
  assert_int_equal(terminal_dropped_bytes(terminal) + terminal_size(terminal),
                   20 * length);
  free(text);
  terminal_free(terminal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shows_what_a_terminal_shows),
      cmocka_unit_test(does_not_care_how_the_text_is_cut),
      cmocka_unit_test(a_long_progress_bar_stays_one_line),
      cmocka_unit_test(keeps_all_that_fits),
      cmocka_unit_test(counts_what_it_drops),
      cmocka_unit_test(cuts_one_long_line_inside),
      cmocka_unit_test(one_write_or_many_give_the_same),
      cmocka_unit_test(never_cuts_a_character_or_a_colour),
      cmocka_unit_test(shrinks_and_stays_exact),
      cmocka_unit_test(shrinks_a_text_without_a_gap),
      cmocka_unit_test(a_screen_can_be_written_over_after_a_flood),
      cmocka_unit_test(the_size_is_that_of_the_view),
      cmocka_unit_test(a_flood_costs_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
