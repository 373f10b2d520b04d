/* A database in a directory of its own, for the tests of the store. */
#ifndef CELLPOST_TESTS_STORE_FIXTURE_H
#define CELLPOST_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/store/kernel.h"
#include "core/store/run.h"
#include "core/store/task.h"

#define KERNEL_A "0190a000-0000-7000-8000-00000000000a"
#define KERNEL_B "0190a000-0000-7000-8000-00000000000b"
#define INSTANCE "app-1"

struct fixture {
  char directory[64];
  char path[96];
  struct store *store;
  struct err err;
};

/* Passes when `call` did not fail; shows its error otherwise. */
#define OK(fixture_, call_)                                                    \
  do {                                                                         \
    if ((call_) < 0)                                                           \
      fail_msg("%s: %s", #call_, (fixture_)->err.text);                        \
  } while (0)

#define FAILS(fixture_, kind_, call_)                                          \
  do {                                                                         \
    err_clear(&(fixture_)->err);                                               \
    assert_int_equal((call_), -1);                                             \
    assert_int_equal((fixture_)->err.kind, (kind_));                           \
  } while (0)

static inline struct fixture *fixture_directory(void) {
  struct fixture *fixture = mem_new(sizeof *fixture);
  const char *base = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
  snprintf(fixture->directory, sizeof fixture->directory,
           "%.30s/cellpost-store-XXXXXX", base);
  assert_non_null(mkdtemp(fixture->directory));
  snprintf(fixture->path, sizeof fixture->path, "%s/cellpost.db",
           fixture->directory);
  return fixture;
}

static inline int fixture_empty(void **state) {
  *state = fixture_directory();
  return 0;
}

/* A database with one instance, task "demo" and kernel A. */
static inline void fixture_fill(struct fixture *fixture) {
  OK(fixture, store_open(fixture->path, CONF_SYNC_BACKGROUND, &fixture->store,
                         &fixture->err));
  OK(fixture, store_instance_start(fixture->store, INSTANCE, "cellpost",
                                   getpid(), 1, &fixture->err));
  OK(fixture,
     task_put(fixture->store, "demo", "python3", NULL, "anna", &fixture->err));
  struct kernel_record kernel = {.id = (char *)KERNEL_A,
                                 .task = (char *)"demo",
                                 .kernelspec = (char *)"python3",
                                 .pid = 4711,
                                 .pid_start = 99,
                                 .directory = (char *)"/run/k"};
  OK(fixture, kernel_insert(fixture->store, &kernel, &fixture->err));
}

static inline int fixture_open(void **state) {
  fixture_empty(state);
  fixture_fill(*state);
  return 0;
}

static inline int fixture_close(void **state) {
  struct fixture *fixture = *state;
  store_close(fixture->store);
  int parent = fs_open_directory("/", &fixture->err);
  assert_true(parent >= 0);
  OK(fixture, fs_remove_tree(parent, fixture->directory + 1, &fixture->err));
  close(parent);
  free(fixture);
  return 0;
}

/* What the sqlite3 shell prints for `sql` (its errors, too), as an auditor
 * would ask. Returns its exit status. */
static inline int fixture_shell(struct fixture *fixture, const char *sql,
                                struct buf *out) {
  int directory = fs_open_directory(fixture->directory, &fixture->err);
  struct iovec part = {(void *)(uintptr_t)sql, strlen(sql)};
  OK(fixture, fs_write_atomic(directory, "ask.sql", 0600, &part, 1,
                              FS_SYNC_NONE, &fixture->err));
  close(directory);
  CLEANUP(mem_free_pointer)
  char *command = mem_format("exec sqlite3 -batch -bail %s < %s/ask.sql 2>&1",
                             fixture->path, fixture->directory);
  FILE *pipe = popen(command, "re");
  assert_non_null(pipe);
  char piece[4096];
  size_t length;
  while ((length = fread(piece, 1, sizeof piece, pipe)) > 0)
    assert_int_equal(buf_append(out, piece, length), 0);
  return pclose(pipe);
}

/* The single value that `sql` yields must be `expected`. */
static inline void fixture_expect(struct fixture *fixture, const char *sql,
                                  const char *expected) {
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  int status = fixture_shell(fixture, sql, &out);
  buf_truncate(&out, out.length > 0 ? out.length - 1 : 0);
  assert_string_equal(buf_string(&out), expected);
  assert_int_equal(status, 0);
}

/* A queued run of `task` as a request makes it; the id is put into `id`. */
static inline struct run_record a_run(const char *task, const char *code,
                                      char id[ID_UUID_SIZE]) {
  id_new(id);
  struct run_record run = {.id = id,
                           .task = (char *)task,
                           .code = (char *)code,
                           .code_length = strlen(code),
                           .caller = (char *)"anna",
                           .address = (char *)"127.0.0.1",
                           .instance = (char *)INSTANCE,
                           .timeout_ms = 2000,
                           .kernel = (char *)KERNEL_A,
                           .generation = 1,
                           .kernel_state = (char *)"kept",
                           .cell = (char *)"cell-1",
                           .execution_count = 1,
                           .cpu_ms = 3,
                           .memory_peak_bytes = -1,
                           .output_bytes = 2};
  crypto_sha256(code, strlen(code), run.code_sha256);
  return run;
}

/* Inserts, starts and finishes it with one line of output. */
static inline void carry_out(struct fixture *fixture, struct run_record *run,
                             enum run_status status) {
  struct err *err = &fixture->err;
  char existing[37];
  OK(fixture, run_insert(fixture->store, run, existing, err));
  OK(fixture, run_start(fixture->store, run, err));
  run->status = status;
  const char *text =
      "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"1\\n\"}]";
  CLEANUP(json_done) struct json *outputs = NULL;
  OK(fixture, json_parse(text, strlen(text), &JSON_RULES_STORE, &outputs, err));
  struct run_ending ending = {.record = run, .outputs = outputs};
  OK(fixture, run_finish(fixture->store, &ending, err));
}

#endif
