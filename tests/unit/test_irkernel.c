/* The line of an R error: R writes calls in its own way, the cell in another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/report/traceback/irkernel.h"

static const struct {
  const char *code, *calls[4];
  int64_t line;
} rows[] = {
    {"f <- function() {\n\n stop('boom')\n}\n\nf( )",
     {"1. f()", "2. stop(\"boom\")   # at line 3 of file <text>"},
     3},
    {"stop( 'a \"b\"' , call.=FALSE)",
     {"1. stop(\"a \\\"b\\\"\", call. = FALSE)   # at line 1 of file <text>"},
     1},
    {"x <- 1\nif (x==1) stop( 'a \"b\"' , call.=FALSE)",
     {"1. stop(\"a \\\"b\\\"\", call. = FALSE)"},
     2},
    {"g<-function(x)x+nope\n\ng(  1 )", {"1. g(1)"}, 3},
    {"lapply(1:3, function(i) {\n if (i==2) stop(paste0('no ', i))\n i })",
     {"1. lapply(1:3, function(i) {\n .     if (i == 2) \n .     i\n . })",
      "2. FUN(X[[i]], ...)",
      "3. stop(paste0(\"no \", i))   # at line 2 of file <text>"},
     2},
    {"1 |> (\\(x) stop('p'))()",
     {"1. (function(x) stop(\"p\"))(1)",
      "2. stop(\"p\")   # at line 1 of file <text>"},
     1},
    {"f(1e5,\n  # why\n  .5, `a b`)",
     {"1. f(1e+05, 0.5, `a b`)   # at line 1 of file <text>"},
     1},
    /* Lines of other cells, and of this one more than once. */
    {"x\ny\nz",
     {"1. f()", "2. stop(\"boom\")   # at line 3 of file <text>"},
     0},
    {"f(1)\nf(1)", {"1. f(1)"}, 0},
    {"f(12)", {"1. f(1)   # at line 1 of file <text>"}, 0},
    {"f('a')", {"1. f(a)   # at line 1 of file <text>"}, 0},
    {"f('a", {"1. f(\"a\")   # at line 9 of file <text>", "2.", "x. y", ""}, 0},
};

static int64_t line_of(const char *text, const char *message,
                       const char *const *calls, size_t count) {
  CLEANUP(json_done) struct json *error = json_object();
  struct json *traceback = json_array();
  for (size_t i = 0; i < count && calls[i] != NULL; i++)
    json_push(traceback, json_string(calls[i]));
  json_set(error, "traceback", traceback);
  json_set_text(error, "evalue", message);
  CLEANUP(code_free) struct code code;
  code_init(&code, text, strlen(text));
  int64_t line, column;
  bool found = irkernel_place(error, &code, &line, &column);
  assert_int_equal(found, line > 0);
  return line;
}

static void calls_are_found_by_their_tokens(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (line_of(rows[i].code, NULL, rows[i].calls, COUNT_OF(rows[i].calls)) !=
        rows[i].line)
      fail_msg("row %zu", i);
}

static void built_in_functions_are_found_by_the_message(void **state) {
  (void)state;
  static const char *const none[] = {"Traceback:"}, *const one[] = {"1. f()"};
  static const char log_a[] = "Error in log(\"a\"): non-numeric argument\n";
  assert_int_equal(line_of("x <- 1\nlog( 'a' )", log_a, none, 1), 2);
  assert_int_equal(line_of("log('a')\nlog('a')", log_a, none, 1), 0);
  assert_int_equal(line_of("log('a')", log_a, one, 1), 0);
  assert_int_equal(line_of("log('a')", "Error in log(\"a\"", none, 1), 0);
  assert_int_equal(line_of("log('a')", "Error in )", none, 1), 0);
  assert_int_equal(line_of("log('a')", "Error: no", none, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_are_found_by_their_tokens),
      cmocka_unit_test(built_in_functions_are_found_by_the_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
