/* The pure parts of the HTTP side: hosts, origins, Accept, Content-Type,
 * routes, problem documents, frames of streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/handlers/run_places.h"
#include "fcgi/http/host.h"
#include "fcgi/http/problem.h"
#include "fcgi/http/router.h"
#include "fcgi/live/stream.h"
#include "fcgi/transport/accept.h"

#define HOSTS "localhost 127.0.0.1  [::1]"

static void hosts_are_compared_without_port_and_case(void **state) {
  (void)state;
  assert_true(host_is_served("localhost", HOSTS));
  assert_true(host_is_served("LocalHost:8080", HOSTS));
  assert_true(host_is_served("localhost.", HOSTS));
  assert_true(host_is_served("[::1]:8080", HOSTS));
  assert_true(host_is_served("127.0.0.1", HOSTS));
}

static void foreign_hosts_are_refused(void **state) {
  (void)state;
  static const char *const foreign[] = {
      "",           "evil.example",   "localhost.evil.example",
      "localhos",   "localhost:80x",  "127.0.0.1.nip.io",
      "[::1",       "localhost:1:2",  "localhost 127.0.0.1",
      "localhost,", "evil@localhost", "."};
  for (size_t i = 0; i < COUNT_OF(foreign); i++)
    assert_false(host_is_served(foreign[i], HOSTS));
  assert_false(host_is_served(NULL, HOSTS));
  assert_false(host_is_served("localhost", ""));
}

static void only_this_origin_may_change_things(void **state) {
  (void)state;
  assert_true(host_is_own_origin(NULL, "localhost:8080"));
  assert_true(host_is_own_origin("", "localhost:8080"));
  assert_true(host_is_own_origin("http://localhost:8080", "localhost:8080"));
  assert_true(host_is_own_origin("https://Tool.example", "tool.example"));
  assert_false(host_is_own_origin("null", "localhost:8080"));
  assert_false(host_is_own_origin("http://localhost", "localhost:8080"));
  assert_false(host_is_own_origin("http://evil.example", "localhost:8080"));
  assert_false(host_is_own_origin("http://", ""));
}

static void accept_is_negotiated(void **state) {
  (void)state;
  static const struct {
    const char *header;
    enum accept_format format;
  } cases[] = {
      {NULL, ACCEPT_JSON},
      {"", ACCEPT_JSON},
      {"*/*", ACCEPT_JSON},
      {"text/html", ACCEPT_JSON},
      {"text/event-stream", ACCEPT_SSE},
      {"Text/Event-Stream; charset=utf-8", ACCEPT_SSE},
      {"application/x-ndjson", ACCEPT_NDJSON},
      {"application/json, text/event-stream", ACCEPT_SSE},
      {"application/json, text/event-stream;q=0.5", ACCEPT_JSON},
      {"text/event-stream;q=0", ACCEPT_JSON},
      {"text/event-stream;q=1e300", ACCEPT_JSON},
      {"text/event-stream;q=nan", ACCEPT_JSON},
      {"text/event-stream;q=0.4 , application/x-ndjson;q=0.8", ACCEPT_NDJSON},
      {"application/x-ndjson, text/event-stream", ACCEPT_NDJSON},
      {"text/event-streams", ACCEPT_JSON},
      {";;;,,=\",", ACCEPT_JSON},
      {"text/event-stream;a=\"x,y\";q=0.3,application/json;q=0.2", ACCEPT_SSE},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (accept_negotiate(cases[i].header) != cases[i].format)
      fail_msg("%s", cases[i].header);
}

static void content_types_are_recognised(void **state) {
  (void)state;
  const char *json = "application/json";
  assert_true(accept_is_type("application/json", json));
  assert_true(accept_is_type(" Application/JSON ; charset=UTF-8", json));
  assert_true(accept_is_type("application/json;charset=\"utf-8\"", json));
  assert_true(accept_is_type("application/json;", json));
  assert_false(accept_is_type("application/json; charset=latin1", json));
  assert_false(accept_is_type("application/jsonp", json));
  assert_false(accept_is_type("text/plain", json));
  assert_false(accept_is_type("", json));
  assert_false(accept_is_type(NULL, json));
}

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
                   allow, &err) != 0)
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

static void runs_do_not_get_every_thread(void **state) {
  (void)state;
  static const long rows[][2] = {{1, 1},  {2, 1},   {9, 1},     {10, 2},
                                 {12, 4}, {32, 24}, {256, 192}, {4096, 3072}};
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    assert_int_equal(run_places_of(rows[i][0]), rows[i][1]);
}

static void a_place_too_many_is_refused(void **state) {
  (void)state;
  struct run_places places = {0};
  struct err err = {0};
  run_places_open(&places, 10);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), -1);
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  assert_non_null(strstr(err.text, "\"threads\" (now 10)"));
  run_places_give(&places);
  assert_int_equal(run_places_take(&places, &err), 0);
  assert_int_equal(run_places_take(&places, &err), -1);
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

static void assert_frame(enum accept_format format, const char *type,
                         const struct json *content, const char *expected) {
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  assert_int_equal(stream_frame(format, type, content, &out), 0);
  assert_string_equal(buf_string(&out), expected);
}

static void events_are_framed(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "text", "a\nb\r\n\ndata: x");
  assert_frame(ACCEPT_SSE, "stream", content,
               "event: stream\ndata: {\"text\":\"a\\nb\\r\\n\\ndata: x\"}\n\n");
  assert_frame(ACCEPT_SSE, "keepalive", NULL, ": keepalive\n\n");
  assert_frame(ACCEPT_NDJSON, "stream", content,
               "{\"type\":\"stream\",\"content\":"
               "{\"text\":\"a\\nb\\r\\n\\ndata: x\"}}\n");
  assert_frame(ACCEPT_NDJSON, "keepalive", NULL, "{\"type\":\"keepalive\"}\n");
}

static void a_frame_that_does_not_fit_leaves_nothing(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *content = json_string("0123456789");
  CLEANUP(buf_free) struct buf out = BUF_INIT(30);
  assert_int_equal(stream_frame(ACCEPT_SSE, "a", NULL, &out), 0);
  size_t before = out.length;
  assert_int_equal(stream_frame(ACCEPT_SSE, "b", content, &out), -1);
  assert_int_equal(out.length, before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_compared_without_port_and_case),
      cmocka_unit_test(foreign_hosts_are_refused),
      cmocka_unit_test(only_this_origin_may_change_things),
      cmocka_unit_test(accept_is_negotiated),
      cmocka_unit_test(content_types_are_recognised),
      cmocka_unit_test(paths_find_their_handlers),
      cmocka_unit_test(wrong_methods_are_told_the_right_ones),
      cmocka_unit_test(unknown_paths_are_not_found),
      cmocka_unit_test(bad_ids_are_named),
      cmocka_unit_test(problems_tell_what_may_be_told),
      cmocka_unit_test(runs_do_not_get_every_thread),
      cmocka_unit_test(a_place_too_many_is_refused),
      cmocka_unit_test(every_status_has_its_reason),
      cmocka_unit_test(events_are_framed),
      cmocka_unit_test(a_frame_that_does_not_fit_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
