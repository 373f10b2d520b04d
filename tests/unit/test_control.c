/* The control socket's messages, there and back, and what is refused; the
 * client against peers that misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/control/control.h"

#define KERNEL "0193791a-5f2b-7c3d-8e4f-a0b1c2d3e4f5"

static void verbs_have_names(void **state) {
  (void)state;
  static const char *const names[] = {
      [CONTROL_START] = "start",      [CONTROL_INTERRUPT] = "interrupt",
      [CONTROL_STACK] = "stack",      [CONTROL_STOP] = "stop",
      [CONTROL_RESTART] = "restart",  [CONTROL_STATUS] = "status",
      [CONTROL_SHUTDOWN] = "shutdown"};
  for (size_t verb = 0; verb < COUNT_OF(names); verb++)
    assert_int_equal(control_verb_parse(names[verb]), verb);
  assert_int_equal(control_verb_parse("dance"), -1);
  assert_int_equal(control_verb_parse(""), -1);
  assert_int_equal(control_verb_parse(NULL), -1);
}

static void a_request_comes_back_as_it_was(void **state) {
  (void)state;
  struct control_request sent = {.verb = CONTROL_STOP,
                                 .deadline = INT64_C(123456789012345),
                                 .task = "demo",
                                 .kernel = KERNEL,
                                 .end = "stopped",
                                 .reason = "Somebody \"asked\".\n"};
  struct control_request got = {0};
  struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  struct err err = {0};
  assert_int_equal(control_request_encode(&sent, &text), 0);
  assert_int_equal(control_request_decode(text.data, text.length, &got, &err),
                   0);
  assert_memory_equal(&sent, &got, sizeof got);
  buf_free(&text);
}

static void bad_requests_are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *text, *fault;
  } cases[] = {
      {"", ""},
      {"nonsense", ""},
      {"[]", "verb"},
      {"{}", "verb"},
      {"{\"verb\":1}", "verb"},
      {"{\"verb\":\"dance\"}", "verb"},
      {"{\"verb\":\"start\"}", "\"task\""},
      {"{\"verb\":\"start\",\"task\":5}", "\"task\""},
      {"{\"verb\":\"start\",\"task\":\"\"}", "task id"},
      {"{\"verb\":\"start\",\"task\":\"../x\"}", "task id"},
      {"{\"verb\":\"start\",\"task\":\"a\\u0000b\"}", "\"task\""},
      {"{\"verb\":\"start\",\"task\":\"a\",\"code\":\"1\"}", "unknown"},
      {"{\"verb\":\"start\",\"task\":\"a\",\"end\":\"exit\"}", "no \"end\""},
      {"{\"verb\":\"interrupt\",\"kernel\":\"1\"}", "kernel id"},
      {"{\"verb\":\"stop\",\"task\":\"a\"}", "\"end\""},
      {"{\"verb\":\"stop\",\"task\":\"a\",\"end\":\"0123456789abcdef\"}",
       "\"end\""},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct control_request got = {.task = "untouched"};
    struct err err = {0};
    assert_int_equal(control_request_decode(cases[i].text,
                                            strlen(cases[i].text), &got, &err),
                     -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(got.task, "untouched");
    if (strstr(err.text, cases[i].fault) == NULL)
      fail_msg("%s: %s", cases[i].text, err.text);
  }
}

static void a_kernel_comes_back_as_it_was(void **state) {
  (void)state;
  struct control_kernel sent = {.id = KERNEL,
                                .generation = 3,
                                .pid = 77,
                                .pid_start = INT64_C(9000000000),
                                .directory = "/run/x",
                                .fresh = true,
                                .end = "exit",
                                .exit_code = 7,
                                .reason = "r",
                                .cpu_us = -1,
                                .memory_bytes = 4096};
  memset(sent.stderr_tail, '\x01', sizeof sent.stderr_tail - 1);
  struct control_kernel got;
  memset(&got, 0xff, sizeof got);
  struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  struct err err = {0};
  assert_int_equal(control_answer_encode(&sent, &text), 0);
  assert_int_equal(control_answer_decode(text.data, text.length, &got, &err),
                   0);
  assert_string_equal(got.id, sent.id);
  assert_string_equal(got.stderr_tail, sent.stderr_tail);
  assert_string_equal(got.end, "exit");
  assert_int_equal(got.exit_code, 7);
  assert_int_equal(got.pid_start, sent.pid_start);
  assert_int_equal(got.cpu_us, -1);
  assert_true(got.fresh);
  assert_false(got.alive);
  buf_free(&text);
}

static void a_fault_keeps_kind_and_text(void **state) {
  (void)state;
  struct err sent = {ERR_NOT_FOUND, "no such kernel"}, got = {0};
  struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  assert_int_equal(control_answer_encode_error(&sent, &text), 0);
  assert_int_equal(control_answer_decode(text.data, text.length, NULL, &got),
                   -1);
  assert_int_equal(got.kind, ERR_NOT_FOUND);
  assert_string_equal(got.text, "no such kernel");
  buf_free(&text);
  static const char *const broken[] = {"", "{}", "{\"ok\":1}",
                                       "{\"ok\":false,\"kind\":\"odd\"}"};
  for (size_t i = 0; i < COUNT_OF(broken); i++) {
    assert_int_equal(
        control_answer_decode(broken[i], strlen(broken[i]), NULL, &got), -1);
    assert_int_equal(got.kind, ERR_PROTOCOL);
  }
}

static void nobody_there_is_unavailable(void **state) {
  (void)state;
  struct control_kernel kernel;
  struct err err = {0};
  assert_int_equal(
      control_start("/nonexistent/keeper.sock", "t", 1000, &kernel, &err), -1);
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  assert_int_equal(control_interrupt("/x", "", &err), -1);
  char longest[200];
  memset(longest, 'a', sizeof longest - 1);
  longest[199] = '\0';
  assert_int_equal(control_start("/x", longest, 1000, &kernel, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
}

/* A keeper that accepts, reads, and then answers with `answer`, closes (""), or
 * waits until the client has gone (NULL). */
static pid_t scripted_keeper(const char *path, const char *answer) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address),
                   0);
  assert_int_equal(listen(listener, 1), 0);
  pid_t child = fork();
  if (child == 0) {
    char text[4096];
    int peer = accept(listener, NULL, NULL);
    recv(peer, text, sizeof text, 0);
    if (answer == NULL)
      recv(peer, text, sizeof text, 0);
    else if (*answer != '\0')
      send(peer, answer, strlen(answer), MSG_NOSIGNAL);
    _exit(0);
  }
  close(listener);
  return child;
}

static void a_misbehaving_keeper_is_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *answer;
    enum err_kind kind;
  } cases[] = {
      {NULL, ERR_TIMEOUT}, {"", ERR_UNAVAILABLE}, {"what", ERR_PROTOCOL}};
  char directory[] = "/tmp/cellpost-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/s", directory);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct control_kernel kernel;
    struct err err = {0};
    pid_t child = scripted_keeper(path, cases[i].answer);
    assert_int_equal(control_start(path, "t", 100, &kernel, &err), -1);
    assert_int_equal(err.kind, cases[i].kind);
    waitpid(child, NULL, 0);
    unlink(path);
  }
  rmdir(directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verbs_have_names),
      cmocka_unit_test(a_request_comes_back_as_it_was),
      cmocka_unit_test(bad_requests_are_refused_by_name),
      cmocka_unit_test(a_kernel_comes_back_as_it_was),
      cmocka_unit_test(a_fault_keeps_kind_and_text),
      cmocka_unit_test(nobody_there_is_unavailable),
      cmocka_unit_test(a_misbehaving_keeper_is_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
