/* Names of channels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/feed/channel_name.h"

static const struct event_text event = {
    .task = (char *)"demo", .run = (char *)"r1", .kind = (char *)"run.output"};

static void words_are_replaced(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"task:{task}:messages", "task:demo:messages"},
      {"{kind}/{run}{task}", "run.output/r1demo"},
      {"all", "all"},
      {"open{task", "open{task"},
      {"}{task}", "}demo"},
      {"", ""},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
    assert_int_equal(channel_name(rows[i][0], &event, &name, NULL), 0);
    assert_string_equal(buf_string(&name), rows[i][1]);
  }
}

static void what_is_not_there_is_nothing(void **state) {
  (void)state;
  struct event_text bare = {.kind = (char *)"a.b"};
  CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
  assert_int_equal(channel_name("{task}:{run}:{kind}", &bare, &name, NULL), 0);
  assert_string_equal(buf_string(&name), "::a.b");
}

static void an_unknown_word_is_refused(void **state) {
  (void)state;
  static const char *const rows[] = {"{tsk}", "{}", "{task }", "a{task}{Task}"};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
    struct err err = {0};
    assert_int_equal(channel_name(rows[i], &event, &name, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_non_null(strstr(err.text, "{task}"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_replaced),
      cmocka_unit_test(what_is_not_there_is_nothing),
      cmocka_unit_test(an_unknown_word_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
