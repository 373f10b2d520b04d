/* Connection files: ours can be read, others' are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/jupyter/connection.h"

static void what_is_composed_can_be_parsed(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf other = BUF_INIT(BUF_SMALL);
  assert_int_equal(
      connection_compose("/run/x/kernels/1", "python3", &text, NULL), 0);
  assert_int_equal(
      connection_compose("/run/x/kernels/1", "python3", &other, NULL), 0);
  assert_string_not_equal(buf_string(&text), buf_string(&other)); /* the key */
  struct connection connection;
  assert_int_equal(
      connection_parse(buf_string(&text), text.length, &connection, NULL), 0);
  assert_string_equal(connection.endpoints[CHANNEL_SHELL],
                      "ipc:///run/x/kernels/1/ipc-1");
  assert_string_equal(connection.endpoints[CHANNEL_HEARTBEAT],
                      "ipc:///run/x/kernels/1/ipc-5");
  assert_string_equal(connection.kernel_name, "python3");
  assert_int_equal(connection.key.size, 64);
  for (int a = 0; a < CHANNEL_COUNT; a++)
    for (int b = 0; b < a; b++)
      assert_string_not_equal(connection.endpoints[a], connection.endpoints[b]);
}

static void the_longest_socket_path_is_107_bytes(void **state) {
  (void)state;
  char directory[103];
  memset(directory, 'a', sizeof directory);
  directory[0] = '/';
  directory[101] = '\0'; /* 101 + "/ipc-1" = 107 */
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(connection_compose(directory, "k", &text, NULL), 0);
  struct connection connection;
  assert_int_equal(
      connection_parse(buf_string(&text), text.length, &connection, NULL), 0);
  directory[101] = 'a';
  directory[102] = '\0';
  struct err err = {0};
  size_t before = text.length;
  assert_int_equal(connection_compose(directory, "k", &text, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(text.length, before);
}

static const char *const valid =
    "{\"shell_port\":50001,\"iopub_port\":50002,\"stdin_port\":50003,"
    "\"control_port\":50004,\"hb_port\":50005,\"ip\":\"127.0.0.1\","
    "\"key\":\"k\",\"transport\":\"tcp\",\"signature_scheme\":\"hmac-sha256\","
    "\"kernel_name\":\"\"}";

static void tcp_is_understood(void **state) {
  (void)state;
  struct connection connection;
  assert_int_equal(connection_parse(valid, strlen(valid), &connection, NULL),
                   0);
  assert_string_equal(connection.endpoints[CHANNEL_CONTROL],
                      "tcp://127.0.0.1:50004");
  assert_int_equal(connection.key.size, 1);
  assert_int_equal(connection.key.bytes[0], 'k');
}

/* The valid file with one member replaced (or taken out, value NULL). */
static void expect_refusal(const char *key, struct json *value) {
  CLEANUP(json_done) struct json *file = NULL;
  assert_int_equal(
      json_parse(valid, strlen(valid), &JSON_RULES_STORE, &file, NULL), 0);
  if (value == NULL)
    json_remove(file, key);
  else
    json_set(file, key, value);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  json_write(file, &text);
  struct connection connection = {.kernel_name = "untouched"};
  struct err err = {0};
  assert_int_equal(
      connection_parse(buf_string(&text), text.length, &connection, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  if (strstr(err.text, key) == NULL)
    fail_msg("\"%s\" does not name \"%s\"", err.text, key);
  assert_string_equal(connection.kernel_name, "untouched");
}

static void what_cannot_be_used_is_refused_by_name(void **state) {
  (void)state;
  expect_refusal("signature_scheme", json_string("hmac-md5"));
  expect_refusal("signature_scheme", json_integer(1));
  expect_refusal("transport", json_string("inproc"));
  expect_refusal("ip", NULL);
  expect_refusal("ip", json_string(""));
  expect_refusal("key", NULL);
  expect_refusal("key", json_integer(3));
  expect_refusal("shell_port", NULL);
  expect_refusal("shell_port", json_integer(0));
  expect_refusal("iopub_port", json_integer(65536));
  expect_refusal("hb_port", json_string("50005"));
  char longest[300];
  memset(longest, 'x', sizeof longest);
  longest[257] = '\0';
  expect_refusal("key", json_string(longest));
  expect_refusal("ip", json_string(longest));
}

static void other_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"", "[]", "null", "{", "{}x", "{}"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct connection connection;
    struct err err = {0};
    assert_int_equal(
        connection_parse(texts[i], strlen(texts[i]), &connection, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_composed_can_be_parsed),
      cmocka_unit_test(the_longest_socket_path_is_107_bytes),
      cmocka_unit_test(tcp_is_understood),
      cmocka_unit_test(what_cannot_be_used_is_refused_by_name),
      cmocka_unit_test(other_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
