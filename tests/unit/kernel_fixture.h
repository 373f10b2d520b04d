/* For tests: a real kernel process over ipc sockets in a temporary directory,
 * and a run loop as plain as it can be. Kernels die with the test program. */
#ifndef CELLPOST_TESTS_KERNEL_FIXTURE_H
#define CELLPOST_TESTS_KERNEL_FIXTURE_H

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jupyter/client.h"

struct fixture {
  char directory[64];
  char connection_file[96];
  struct connection connection;
  pid_t pid;
  int pidfd;
  struct channel_context *context;
  struct channel *channel;
  struct kernel_info info;
};

/* What one cell did. */
struct outcome {
  struct execution execution;
  /* Every output and input as "[type]text\n", foreign ones "[~type]text\n". */
  struct buf transcript;
  bool died;
  bool late; /* the deadline passed */
};

static inline void outcome_free(struct outcome *outcome) {
  execution_free(&outcome->execution);
  buf_free(&outcome->transcript);
}

static inline void fixture_write_connection(struct fixture *fixture) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(connection_compose(fixture->directory, "test", &text, NULL),
                   0);
  assert_int_equal(connection_parse(buf_string(&text), text.length,
                                    &fixture->connection, NULL),
                   0);
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(fixture->directory, NULL);
  struct iovec part = {text.data, text.length};
  assert_int_equal(
      fs_write_atomic(directory, "c.json", 0600, &part, 1, FS_SYNC_NONE, NULL),
      0);
}

/* argv[i] "{}" stands for the connection file. */
static inline void fixture_spawn(struct fixture *fixture,
                                 const char *const *argv) {
  char *arguments[16] = {NULL};
  for (size_t i = 0; argv[i] != NULL && i < COUNT_OF(arguments) - 1; i++)
    arguments[i] = strcmp(argv[i], "{}") == 0 ? fixture->connection_file
                                              : (char *)(uintptr_t)argv[i];
  fixture->pid = fork();
  if (fixture->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    setenv("IPYTHONDIR", fixture->directory, 1);
    execv(arguments[0], arguments);
    _exit(127);
  }
  assert_true(fixture->pid > 0);
  fixture->pidfd = (int)syscall(SYS_pidfd_open, fixture->pid, 0);
  assert_true(fixture->pidfd >= 0);
}

/* A kernel process and sockets to it; nothing is proven yet. */
static inline void fixture_start(struct fixture *fixture,
                                 const char *const *argv) {
  *fixture = (struct fixture){.directory = "/tmp/cellpost-test-XXXXXX"};
  assert_non_null(mkdtemp(fixture->directory));
  snprintf(fixture->connection_file, sizeof fixture->connection_file,
           "%s/c.json", fixture->directory);
  fixture_write_connection(fixture);
  fixture_spawn(fixture, argv);
  assert_int_equal(channel_context_new(&fixture->context, NULL), 0);
  assert_int_equal(channel_open(fixture->context, &fixture->connection,
                                &fixture->channel, NULL),
                   0);
}

static inline void fixture_prove(struct fixture *fixture) {
  struct err err = {0};
  int64_t deadline = clock_monotonic_ns() + 60 * CLOCK_S;
  kernel_info_free(&fixture->info);
  if (client_prove(fixture->channel, fixture->pidfd, deadline, 0,
                   &fixture->info, &err) < 0)
    fail_msg("%s", err.text);
}

static inline void fixture_stop(struct fixture *fixture) {
  channel_done(&fixture->channel);
  channel_context_free(fixture->context);
  kernel_info_free(&fixture->info);
  kill(fixture->pid, SIGKILL);
  waitpid(fixture->pid, NULL, 0);
  close(fixture->pidfd);
  int root = fs_open_directory("/tmp", NULL);
  fs_remove_tree(root, fixture->directory + strlen("/tmp/"), NULL);
  close(root);
}

static inline void transcribe(struct buf *transcript, const char *mark,
                              const struct message *message) {
  static const char *const keys[] = {"text", "ename", "prompt", "comm_id"};
  const struct json *text =
      json_get(json_get(message->content, "data"), "text/plain");
  for (size_t i = 0; i < COUNT_OF(keys) && text == NULL; i++)
    text = json_get(message->content, keys[i]);
  buf_format(transcript, "[%s%s]", mark, message->type);
  buf_append(transcript, json_text(text), json_text_length(text));
  buf_byte(transcript, '\n');
}

/* Reads what is there on one channel; input is answered with `input`. */
static inline void take_messages(struct fixture *fixture,
                                 enum channel_name name, const char *input,
                                 struct outcome *outcome) {
  for (;;) {
    CLEANUP(message_free) struct message message = {0};
    struct err err = {0};
    int result = channel_receive(fixture->channel, name, &message, &err);
    if (result < 0)
      fail_msg("%s", err.text);
    if (result == 0)
      return;
    switch (client_observe(&outcome->execution, name, &message)) {
    case CLIENT_INPUT:
      transcribe(&outcome->transcript, "", &message);
      assert_int_equal(client_input(fixture->channel, &message, input, NULL),
                       0);
      break;
    case CLIENT_OUTPUT:
      transcribe(&outcome->transcript, "", &message);
      break;
    case CLIENT_FOREIGN:
      transcribe(&outcome->transcript, "~", &message);
      break;
    case CLIENT_NOTHING:
    default:
      break;
    }
  }
}

/* Goes on with an execution until it has finished, the kernel has died or the
 * seconds have passed. */
static inline void wait_for_end(struct fixture *fixture, double seconds,
                                const char *input, struct outcome *outcome) {
  int64_t deadline =
      clock_monotonic_ns() + (int64_t)(seconds * (double)CLOCK_S);
  while (!client_finished(&outcome->execution) && !outcome->died &&
         !outcome->late) {
    struct channel_watch process = {fixture->pidfd, POLLIN, 0};
    int mask = channel_wait(fixture->channel, &process, 1,
                            clock_poll_timeout(deadline), NULL);
    assert_true(mask >= 0);
    for (enum channel_name name = 0; name < CHANNEL_HEARTBEAT; name++)
      if ((mask & 1 << name) != 0)
        take_messages(fixture, name, input, outcome);
    outcome->died = mask == 0 && process.revents != 0;
    outcome->late = mask == 0 && clock_monotonic_ns() >= deadline;
  }
}

static inline void begin_code(struct fixture *fixture, const char *code,
                              bool allow_stdin, struct outcome *outcome) {
  struct execute_options options = {.store_history = true,
                                    .allow_stdin = allow_stdin};
  struct err err = {0};
  outcome->transcript = (struct buf)BUF_INIT(BUF_KERNEL_MESSAGE);
  outcome->died = outcome->late = false;
  if (client_execute(fixture->channel, code, strlen(code), &options,
                     &outcome->execution, &err) < 0)
    fail_msg("%s", err.text);
}

static inline void run_code(struct fixture *fixture, const char *code,
                            struct outcome *outcome) {
  begin_code(fixture, code, false, outcome);
  wait_for_end(fixture, 20, NULL, outcome);
}

static inline void expect_transcript(const struct outcome *outcome,
                                     const char *expected) {
  assert_string_equal(buf_string(&outcome->transcript), expected);
}

#endif
