/* Paths and methods find their handlers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/http/router.h"

static const struct route table[] = {
    {.method = "POST", .pattern = "/v1/tasks/{task}/execute"},
    {.method = "GET", .pattern = "/v1/tasks"},
    {.method = "PUT", .pattern = "/v1/tasks/{task}"},
    {.method = "GET", .pattern = "/v1/tasks/{task}"},
    {.method = "DELETE", .pattern = "/v1/tasks/{task}"},
    {.method = "GET", .pattern = "/v1/runs/{run}"},
    {.method = "GET", .pattern = "/healthz"},
};

/* A route's pattern and what it matched, as "METHOD PATTERN task run", or the
 * kind of the error. */
static void match(const char *method, const char *path, char text[256],
                  struct buf *allow) {
  char copy[256], *segments[16];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *at = copy; at != NULL && count < 16;) {
    *at++ = '\0';
    segments[count++] = at;
    at = strchr(at, '/');
  }
  struct route_match found;
  struct err err = {.kind = ERR_NONE};
  if (router_match(table, COUNT_OF(table), method, segments, count, &found,
                   allow, &err) < 0)
    snprintf(text, 256, "error %d", (int)err.kind);
  else
    snprintf(text, 256, "%s %s %s %s", found.route->method,
             found.route->pattern, found.task == NULL ? "-" : found.task,
             found.run == NULL ? "-" : found.run);
}

static void assert_match(const char *method, const char *path,
                         const char *expected, const char *expected_allow) {
  char text[256];
  CLEANUP(buf_free) struct buf allow = BUF_INIT(1000);
  match(method, path, text, &allow);
  assert_string_equal(text, expected);
  assert_string_equal(buf_string(&allow), expected_allow);
}

#define UUID "01890a5d-ac96-774b-bcce-b302099a8057"

static void paths_find_their_handlers(void **state) {
  (void)state;
  assert_match("POST", "/v1/tasks/demo/execute",
               "POST /v1/tasks/{task}/execute demo -", "");
  assert_match("GET", "/v1/tasks", "GET /v1/tasks - -", "");
  assert_match("HEAD", "/v1/tasks", "GET /v1/tasks - -", "");
  assert_match("DELETE", "/v1/tasks/a.b", "DELETE /v1/tasks/{task} a.b -", "");
  assert_match("GET", "/v1/runs/" UUID, "GET /v1/runs/{run} - " UUID, "");
  assert_match("GET", "/healthz", "GET /healthz - -", "");
}

static void wrong_methods_are_told_the_right_ones(void **state) {
  (void)state;
  char denied[16];
  snprintf(denied, sizeof denied, "error %d", ERR_DENIED);
  assert_match("GET", "/v1/tasks/demo/execute", denied, "POST");
  assert_match("PATCH", "/v1/tasks/demo", denied, "PUT, GET, HEAD, DELETE");
  assert_match("OPTIONS", "/healthz", denied, "GET, HEAD");
  assert_match("", "/healthz", denied, "GET, HEAD");
}

static void unknown_paths_are_not_found(void **state) {
  (void)state;
  char absent[16];
  snprintf(absent, sizeof absent, "error %d", ERR_NOT_FOUND);
  static const char *const paths[] = {
      "/",          "/v1",           "/v2/tasks",    "/v1/x/{task}",
      "/v1//tasks", "/v1/tasks/a/b", "/V1/tasks",    "/v1/task",
      "/healthz/x", "/metricss",     "/v1/tasks/a/", "/v1/kernelspecs/x"};
  for (size_t i = 0; i < COUNT_OF(paths); i++)
    assert_match("GET", paths[i], absent, "");
}

static void bad_ids_are_named(void **state) {
  (void)state;
  char invalid[16];
  snprintf(invalid, sizeof invalid, "error %d", ERR_INVALID);
  assert_match("POST", "/v1/tasks/./execute", invalid, "");
  assert_match("POST", "/v1/tasks//execute", invalid, "");
  assert_match("POST", "/v1/tasks/../x/execute", invalid, "");
  assert_match("POST", "/v1/tasks/a/b/execute", invalid, "");
  assert_match("POST", "/v1/tasks/\xc3\xa9/execute", invalid, "");
  assert_match("GET", "/v1/tasks/", invalid, "");
  assert_match("GET", "/v1/runs/1", invalid, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_find_their_handlers),
      cmocka_unit_test(wrong_methods_are_told_the_right_ones),
      cmocka_unit_test(unknown_paths_are_not_found),
      cmocka_unit_test(bad_ids_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
