/* Faults as statuses and problem documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/http/problem.h"

static void problems_tell_what_may_be_told(void **state) {
  (void)state;
  struct err err;
  err_set(&err, ERR_FIELD, "unknown field \"x\"");
  CLEANUP(json_done) struct json *details = json_object();
  json_set_text(details, "field", "x");
  json_set_text(details, "status", "must not replace");
  CLEANUP(json_done)
  struct json *field =
      problem_document(problem_status(err.kind), &err, "id7", details);
  assert_int_equal(json_get_integer(field, "status", 0), 422);
  assert_string_equal(json_get_text(field, "detail"), "unknown field \"x\"");
  assert_string_equal(json_get_text(field, "field"), "x");
  assert_string_equal(json_get_text(field, "type"),
                      "urn:cellpost:problem:field");
  assert_string_equal(json_get_text(field, "instance"),
                      "urn:cellpost:request:id7");
  err_set(&err, ERR_IO, "cannot open /secret");
  CLEANUP(json_done)
  struct json *inside =
      problem_document(problem_status(err.kind), &err, "id7", NULL);
  assert_int_equal(json_get_integer(inside, "status", 0), 500);
  assert_null(strstr(json_get_text(inside, "detail"), "secret"));
  assert_non_null(strstr(json_get_text(inside, "detail"), "id7"));
}

static void every_status_has_its_reason(void **state) {
  (void)state;
  for (int kind = ERR_NONE; kind <= ERR_INTERNAL; kind++) {
    int status = problem_status((enum err_kind)kind);
    assert_in_range(status, 400, 599);
    assert_string_not_equal(problem_reason(status), "Unknown");
  }
  assert_string_equal(problem_reason(421), "Misdirected Request");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(problems_tell_what_may_be_told),
      cmocka_unit_test(every_status_has_its_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
