/* Lines that come again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/notebook/fold.h"

static void check(const char *const *texts, size_t count,
                  const char *expected) {
  CLEANUP(fold_done) struct fold *fold = fold_new();
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  for (size_t i = 0; i < count; i++)
    fold_count(fold, texts[i], strlen(texts[i]));
  for (size_t i = 0; i < count; i++)
    assert_int_equal(fold_write(fold, texts[i], strlen(texts[i]), &out), 0);
  assert_string_equal(buf_string(&out), expected);
}

#define TWICE(text_) text_ text_
#define EIGHT(text_) TWICE(TWICE(TWICE(text_)))

static void few_lines_stay(void **state) {
  (void)state;
  const char *text = EIGHT("a\n") EIGHT("b\n") EIGHT(TWICE("\n")) "a";
  check(&text, 1, text);
}

static void many_are_counted_where_they_end(void **state) {
  (void)state;
  const char *text = "first\n" EIGHT("warning\n") "other\nwarning\nlast";
  check(&text, 1,
        "first\nwarning\nwarning\nwarning\n"
        "[… the line above comes 6 more times …]\nother\nlast");
}

static void several_texts_are_one(void **state) {
  (void)state;
  static const char *const texts[] = {EIGHT("w\n"), "w\nx\n", "w"};
  check(texts, COUNT_OF(texts),
        "w\nw\nw\n[… the line above comes 6 more times …]\nx\nw");
}

static void what_differs_stays(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  for (int i = 0; i < 500; i++)
    buf_format(&text, "warning %d\n", i);
  const char *lines = buf_string(&text);
  check(&lines, 1, lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_lines_stay),
      cmocka_unit_test(many_are_counted_where_they_end),
      cmocka_unit_test(several_texts_are_one),
      cmocka_unit_test(what_differs_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
