/* Messages of the Model Context Protocol, and results made of answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/mcp/content.h"
#include "fcgi/mcp/rpc.h"

#define META(version)                                                          \
  "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version          \
  "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LIST                                                                   \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{" META( \
      RPC_MODERN) "}}"
#define CALL(arguments)                                                        \
  "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{"   \
  "\"name\":\"execute\",\"arguments\":" arguments "," META(RPC_MODERN) "}}"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_REQUEST, &value, &err), 0);
  return value;
}

/* 0, or the code of the fault. */
static int read_text(const char *text, struct rpc_headers headers,
                     int *status) {
  CLEANUP(json_done) struct json *body = parse(text);
  CLEANUP(rpc_fault_done) struct rpc_fault fault = {.data = NULL};
  struct rpc_message message;
  if (rpc_read(body, &headers, &message, &fault) >= 0)
    return 0;
  assert_true(fault.text[0] != '\0');
  *status = fault.status;
  return (int)fault.code;
}

static void messages_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *text;
    struct rpc_headers headers;
    int code, status;
  } rows[] = {
      {LIST, {.version = RPC_MODERN, .method = "tools/list"}, 0, 0},
      {"[]", {.version = NULL}, RPC_INVALID_REQUEST, 400},
      {"{}", {.version = NULL}, RPC_INVALID_REQUEST, 400},
      {"7", {.version = NULL}, RPC_INVALID_REQUEST, 400},
      {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
       {.version = NULL},
       RPC_INVALID_REQUEST,
       400},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
       {.version = NULL},
       RPC_INVALID_REQUEST,
       400},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
       {.version = NULL},
       RPC_INVALID_REQUEST,
       400},
      /* legacy */
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
       {.version = NULL},
       0,
       0},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
       {.version = "2025-06-18"},
       0,
       0},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
       {.version = "1999-01-01"},
       RPC_INVALID_REQUEST,
       400},
      /* modern, in the order in which faults are looked for */
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
       {.version = RPC_MODERN, .method = "tools/list"},
       RPC_INVALID_PARAMS,
       400},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
       {.version = NULL},
       RPC_INVALID_PARAMS,
       400},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
       "}}",
       {.version = RPC_MODERN, .method = "tools/list"},
       RPC_INVALID_PARAMS,
       400},
      {LIST, {.method = "tools/list"}, RPC_HEADER_MISMATCH, 400},
      {LIST, {.version = RPC_MODERN}, RPC_HEADER_MISMATCH, 400},
      {LIST,
       {.version = RPC_MODERN, .method = "TOOLS/LIST"},
       RPC_HEADER_MISMATCH,
       400},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
       "list\",\"params\":{" META("2099-01-01") "}}",
       {.version = "2099-01-01", .method = "tools/list"},
       RPC_UNSUPPORTED_VERSION,
       400},
      /* headers that repeat an argument */
      {CALL("{\"task\":\"t\"}"),
       {.version = RPC_MODERN,
        .method = "tools/call",
        .name = "execute",
        .param_task = "t"},
       0,
       0},
      {CALL("{\"task\":\"t\"}"),
       {.version = RPC_MODERN,
        .method = "tools/call",
        .name = "=?base64?ZXhlY3V0ZQ==?=",
        .param_task = "=?base64?dA==?="},
       0,
       0},
      {CALL("{\"task\":\"t\"}"),
       {.version = RPC_MODERN,
        .method = "tools/call",
        .name = "execute",
        .param_task = "=?base64?d?="},
       RPC_HEADER_MISMATCH,
       400},
      {CALL("{\"task\":\"t\"}"),
       {.version = RPC_MODERN, .method = "tools/call", .name = "execute"},
       RPC_HEADER_MISMATCH,
       400},
      {CALL("{}"),
       {.version = RPC_MODERN,
        .method = "tools/call",
        .name = "execute",
        .param_task = "t"},
       RPC_HEADER_MISMATCH,
       400},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    int status = 0;
    int code = read_text(rows[i].text, rows[i].headers, &status);
    if (code != rows[i].code || status != rows[i].status)
      fail_msg("row %zu: code %d status %d", i, code, status);
  }
}

static void an_unserved_revision_names_those_that_are(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *body = parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                            "list\",\"params\":{" META("2099-01-01") "}}");
  CLEANUP(rpc_fault_done) struct rpc_fault fault = {.data = NULL};
  struct rpc_message message;
  struct rpc_headers headers = {.version = "2099-01-01",
                                .method = "tools/list"};
  assert_true(rpc_read(body, &headers, &message, &fault) < 0);
  assert_string_equal(json_text(json_at(json_get(fault.data, "supported"), 0)),
                      RPC_MODERN);
  assert_string_equal(json_get_text(fault.data, "requested"), "2099-01-01");
  CLEANUP(json_done) struct json *answer = rpc_error(&message, &fault);
  assert_int_equal(json_get_integer(answer, "id", 0), 1);
  assert_int_equal(json_get_integer(json_get(answer, "error"), "code", 0),
                   RPC_UNSUPPORTED_VERSION);
}

static void an_old_client_gets_the_newest_that_it_can_speak(void **state) {
  (void)state;
  assert_string_equal(rpc_negotiate("2025-06-18"), "2025-06-18");
  assert_string_equal(rpc_negotiate("2025-11-25"), "2025-11-25");
  assert_string_equal(rpc_negotiate("2024-11-05"), "2025-11-25");
  assert_string_equal(rpc_negotiate(NULL), "2025-11-25");
}

static const char *kind(const struct json *result, size_t at) {
  return json_get_text(json_at(json_get(result, "content"), at), "type");
}

#define IMAGES                                                                 \
  "\"images\":[{\"mime\":\"image/png\",\"base64\":\"AAAA\",\"uri\":"           \
  "\"/tasks/t/artifacts/a.png\",\"bytes\":3},{\"mime\":\"image/svg+xml\","     \
  "\"base64\":\"AAAA\",\"uri\":\"/tasks/t/artifacts/b.svg\",\"bytes\":3},"     \
  "{\"mime\":\"image/png\",\"uri\":\"/tasks/t/artifacts/c.png\",\"bytes\":9}]"

static void a_result_has_text_then_images_then_links(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *answer =
      parse("{\"run\":\"r\",\"task\":\"t\",\"status\":\"ok\",\"text\":\"hi\","
            "\"kernel\":{\"state\":\"kept\"},\"notes\":[\"n\"]," IMAGES
            ",\"files\":[{\"path\":\"a.csv\",\"uri\":\"/tasks/t/files/a.csv\","
            "\"bytes\":1},{\"path\":\"gone\"}],\"notebook\":"
            "\"/tasks/t/notebook.ipynb\"}");
  CLEANUP(json_done) struct json *result = content_of_run(answer, 100);
  assert_false(json_as_boolean(json_get(result, "isError"), true));
  const struct json *content = json_get(result, "content");
  assert_int_equal(json_length(content), 6);
  assert_string_equal(json_get_text(json_at(content, 0), "text"), "hi");
  assert_string_equal(kind(result, 1), "image");
  assert_string_equal(kind(result, 2), "resource_link");
  assert_string_equal(json_get_text(json_at(content, 2), "uri"),
                      "cellpost://tasks/t/artifacts/b.svg");
  assert_string_equal(json_get_text(json_at(content, 3), "uri"),
                      "cellpost://tasks/t/artifacts/c.png");
  assert_string_equal(json_get_text(json_at(content, 4), "uri"),
                      "cellpost://tasks/t/files/a.csv");
  assert_string_equal(json_get_text(json_at(content, 5), "uri"),
                      "cellpost://tasks/t/notebook.ipynb");
  assert_string_equal(
      json_get_text(json_get(result, "structuredContent"), "status"), "ok");
}

static void an_image_over_the_budget_is_a_link(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *answer =
      parse("{\"task\":\"t\",\"status\":\"ok\",\"text\":\"\"," IMAGES "}");
  CLEANUP(json_done) struct json *result = content_of_run(answer, 3);
  assert_string_equal(
      json_get_text(json_at(json_get(result, "content"), 0), "text"),
      "(no output)");
  for (size_t i = 1; i < 4; i++)
    assert_string_equal(kind(result, i), "resource_link");
}

static void a_failure_says_what_to_mend(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *answer =
      parse("{\"task\":\"t\",\"status\":\"error\",\"text\":\"short\","
            "\"error\":{\"ename\":\"E\",\"prompt\":\"mend this\"}}");
  CLEANUP(json_done) struct json *result = content_of_run(answer, 0);
  assert_true(json_as_boolean(json_get(result, "isError"), false));
  assert_string_equal(
      json_get_text(json_at(json_get(result, "content"), 0), "text"),
      "mend this");
}

static void a_run_that_goes_on_says_how_to_wait(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *run = parse("{\"run\":\"r-1\",\"task\":\"t\",\"status\":"
                           "\"running\",\"stdout\":\"half\"}");
  CLEANUP(json_done) struct json *result = content_of_unfinished(run);
  const char *text =
      json_get_text(json_at(json_get(result, "content"), 0), "text");
  assert_non_null(strstr(text, "`result` with run \"r-1\""));
  assert_non_null(strstr(text, "stdout so far:\nhalf"));
  assert_false(json_as_boolean(json_get(result, "isError"), true));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_are_told_apart),
      cmocka_unit_test(an_unserved_revision_names_those_that_are),
      cmocka_unit_test(an_old_client_gets_the_newest_that_it_can_speak),
      cmocka_unit_test(a_result_has_text_then_images_then_links),
      cmocka_unit_test(an_image_over_the_budget_is_a_link),
      cmocka_unit_test(a_failure_says_what_to_mend),
      cmocka_unit_test(a_run_that_goes_on_says_how_to_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
