/* Limits of kernels: what a task may ask for, and what follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/jail/layers/jail_rlimits.h"
#include "core/process/kernel_limits.h"

#define MIB (INT64_C(1) << 20)

static struct err err;

static struct conf *configured(const char *text) {
  struct conf *conf = NULL;
  if (conf_parse(text, strlen(text), "c.conf", &conf, &err) != 0)
    fail_msg("%s", err.text);
  return conf;
}

static int read_limits(const char *conf_text, const char *wanted,
                       struct kernel_limits *ret) {
  CLEANUP(conf_done) struct conf *conf = configured(conf_text);
  CLEANUP(json_done) struct json *value = NULL;
  if (wanted != NULL)
    assert_int_equal(
        json_parse(wanted, strlen(wanted), &JSON_RULES_REQUEST, &value, &err),
        0);
  return kernel_limits_read(conf, value, ret, &err);
}

static void defaults_come_from_the_configuration(void **state) {
  (void)state;
  struct kernel_limits limits = {0};
  assert_int_equal(read_limits("[limits]\nmemory = 100M\ntmp_bytes = 7M\n"
                               "cpus = 1.5\nfile_bytes = 9M\n",
                               NULL, &limits),
                   0);
  assert_int_equal(limits.memory, 100 * MIB);
  assert_int_equal(limits.tmp_bytes, 7 * MIB);
  assert_int_equal(limits.file_bytes, 9 * MIB);
  assert_true(limits.cpus == 1.5);
  assert_int_equal(limits.pids, 512);
  assert_int_equal(limits.open_files, 4096);
}

static void a_task_may_ask_within_the_maxima(void **state) {
  (void)state;
  struct kernel_limits limits = {0};
  assert_int_equal(
      read_limits("[limits]\npids_max = 1000\n",
                  "{\"memory\":134217728,\"pids\":1000,\"cpus\":0.25,"
                  "\"workspace_bytes\":1048576,\"workspace_files\":100}",
                  &limits),
      0);
  assert_int_equal(limits.memory, 128 * MIB);
  assert_int_equal(limits.pids, 1000);
  assert_true(limits.cpus == 0.25);
  assert_int_equal(limits.workspace_bytes, MIB);
  assert_int_equal(limits.workspace_files, 100);
}

static void what_is_out_of_range_is_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *wanted, *fault;
  } cases[] = {
      {"{\"memory\":1}",
       "limits.memory must be a whole number from 67108864 to 17179869184"},
      {"{\"memory\":17179869185}",
       "limits.memory must be a whole number from 67108864 to 17179869184"},
      {"{\"memory\":\"2G\"}",
       "limits.memory must be a whole number from 67108864 to 17179869184"},
      {"{\"pids\":100.5}",
       "limits.pids must be a whole number from 16 to 4096"},
      {"{\"pids\":null}", "limits.pids must be a whole number from 16 to 4096"},
      {"{\"cpus\":0}", "limits.cpus must be a number from 0.05 to 4096"},
      {"{\"cpus\":true}", "limits.cpus must be a number from 0.05 to 4096"},
      {"{\"cpu\":1}", "limits.cpu is unknown; there are memory, pids, cpus, "
                      "workspace_bytes and workspace_files"},
      {"[1]", "limits must be an object"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct kernel_limits limits = {.pids = -3};
    assert_int_equal(read_limits("", cases[i].wanted, &limits), -1);
    assert_int_equal(err.kind, ERR_FIELD);
    assert_string_equal(err.text, cases[i].fault);
    assert_int_equal(limits.pids, -3);
  }
  struct kernel_limits limits;
  assert_int_equal(read_limits("[limits]\ncpus = 1\ncpus_max = 2\n",
                               "{\"cpus\":3}", &limits),
                   -1);
  assert_string_equal(err.text, "limits.cpus must be a number from 0.05 to 2");
}

static void threads_follow_the_processors(void **state) {
  (void)state;
  struct kernel_limits limits = {.cpus = 0};
  assert_int_equal(kernel_limits_threads(&limits, 8, 4), 4);
  assert_int_equal(kernel_limits_threads(&limits, 2, 4), 2);
  assert_int_equal(kernel_limits_threads(&limits, -1, 4), 1);
  limits.cpus = 0.1;
  assert_int_equal(kernel_limits_threads(&limits, 8, 4), 1);
  limits.cpus = 2.5;
  assert_int_equal(kernel_limits_threads(&limits, 8, 4), 3);
}

static void tight_memory_leaves_a_margin(void **state) {
  (void)state;
  static const int64_t cases[][2] = {{64, 48},    {100, 75},    {200, 168},
                                     {1000, 900}, {2560, 2304}, {8000, 7744}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct kernel_limits limits = {.memory = cases[i][0] * MIB};
    assert_int_equal(kernel_limits_soft_memory(&limits), cases[i][1] * MIB);
  }
}

static bool holds(__rlimit_resource_t resource, rlim_t value) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur == value &&
         limit.rlim_max == value;
}

static int enter_and_look(void) {
  struct rlimit address, before, core;
  struct kernel_limits limits = {
      .open_files = 200, .file_bytes = 3 * MIB, .pids = 90};
  if (getrlimit(RLIMIT_AS, &before) != 0 ||
      getrlimit(RLIMIT_CORE, &core) != 0 ||
      jail_rlimits_enter(&limits, true, NULL) != 0)
    return 1;
  bool may_have_one = geteuid() == 0 || core.rlim_max >= 1;
  if (!holds(RLIMIT_CORE, may_have_one ? 1 : 0) || !holds(RLIMIT_NOFILE, 200) ||
      !holds(RLIMIT_FSIZE, 3 * MIB) || !holds(RLIMIT_NPROC, 90))
    return 2;
  getrlimit(RLIMIT_AS, &address);
  if (address.rlim_cur != before.rlim_cur)
    return 3;
  /* what the process itself may not pass is kept */
  limits.open_files = 300;
  return jail_rlimits_enter(&limits, false, NULL) == 0 &&
                 holds(RLIMIT_NOFILE, 200)
             ? 0
             : 4;
}

static void a_process_is_limited(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0)
    _exit(enter_and_look());
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_come_from_the_configuration),
      cmocka_unit_test(a_task_may_ask_within_the_maxima),
      cmocka_unit_test(what_is_out_of_range_is_refused_by_name),
      cmocka_unit_test(threads_follow_the_processors),
      cmocka_unit_test(tight_memory_leaves_a_margin),
      cmocka_unit_test(a_process_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
