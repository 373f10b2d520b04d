/* Headers of requests: hosts, origins, Accept, Content-Type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/http/accept.h"
#include "fcgi/http/host.h"

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

static void a_proxy_may_hide_the_port(void **state) {
  (void)state;
  const char *host = "tool.example";
  assert_true(
      host_is_own_origin_forwarded("https://tool.example:8443", host, NULL));
  assert_true(host_is_own_origin_forwarded("https://tool.example", "inside",
                                           "Tool.example"));
  assert_true(host_is_own_origin_forwarded("https://tool.example:8443",
                                           "inside", "tool.example:8443"));
  assert_false(
      host_is_own_origin_forwarded("https://evil.example", host, host));
  assert_false(host_is_own_origin_forwarded("https://tool.example:8443",
                                            "tool.example:80", NULL));
  assert_false(host_is_own_origin_forwarded("null", host, NULL));
  assert_false(host_is_own_origin_forwarded("https://", "", ""));
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

static void pages_are_for_those_who_prefer_them(void **state) {
  (void)state;
  assert_true(accept_is_page("text/html,application/xhtml+xml,*/*;q=0.8"));
  assert_true(accept_is_page("application/json;q=0.5, Text/HTML"));
  assert_false(accept_is_page("application/json, text/html"));
  assert_false(accept_is_page("text/html;q=0"));
  assert_false(accept_is_page("*/*"));
  assert_false(accept_is_page(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_compared_without_port_and_case),
      cmocka_unit_test(foreign_hosts_are_refused),
      cmocka_unit_test(only_this_origin_may_change_things),
      cmocka_unit_test(a_proxy_may_hide_the_port),
      cmocka_unit_test(accept_is_negotiated),
      cmocka_unit_test(content_types_are_recognised),
      cmocka_unit_test(pages_are_for_those_who_prefer_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
