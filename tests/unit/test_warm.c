/* What decides about zygotes and spares, and an order on its way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_filter.h"
#include "core/keeper/kernels/keeper.h"
#include "core/keeper/launch/shadow.h"
#include "core/keeper/launch/spare_policy.h"
#include "core/keeper/shim/shim_order.h"
#include "core/keeper/zygote/zygote.h"
#include "tests/unit/scratch.h"

static void only_a_plain_ipykernel_suits(void **state) {
  (void)state;
  const struct {
    bool suits;
    const char *argv[6];
  } cases[] = {
      {true, {"/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "x"}},
      {true, {"python3.11", "-m", "ipykernel_launcher"}},
      {true,
       {"python", "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f"}},
      {false, {"python3", "-I", "-m", "ipykernel_launcher", "-f", "x"}},
      {false, {"python3", "-m", "bash_kernel", "-f", "x"}},
      {false, {"python3", "-m"}},
      {false, {"python3"}},
      {false, {"bash", "-m", "ipykernel_launcher", "-f", "x"}},
      {false, {"R", "--slave", "-e", "IRkernel::main()"}},
      {false, {NULL}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(zygote_suits((char *const *)cases[i].argv),
                     cases[i].suits);
}

static void what_is_read_at_the_start_must_agree(void **state) {
  (void)state;
  static char *const own[] = {"PATH=/bin", "LANG=C.UTF-8", "HOME=/a",
                              "OMP_NUM_THREADS=2", NULL};
  const struct {
    bool agrees;
    const char *environment[6];
  } cases[] = {
      {true, {"PATH=/bin", "LANG=C.UTF-8", "HOME=/b", "OMP_NUM_THREADS=2"}},
      {true, {"OMP_NUM_THREADS=2", "LANG=C.UTF-8", "TOKEN=x", "PATHS=y"}},
      {false, {"LANG=C", "OMP_NUM_THREADS=2"}},
      {false, {"LANG=C.UTF-8", "OMP_NUM_THREADS=4"}},
      {false, {"LANG=C.UTF-8"}},
      {false, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "PYTHONPATH=/x"}},
      {false, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "LD_PRELOAD=/x"}},
      {false, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "TORCH_HOME=/x"}},
      {false, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "SKLEARN_X=1"}},
      {true, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "TORCHES=1"}},
      {true, {"LANG=C.UTF-8", "OMP_NUM_THREADS=2", "SK_X=1"}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(zygote_agrees((char *const *)cases[i].environment, own,
                                   " torch  sklearn.linear_model"),
                     cases[i].agrees);
}

static void failures_are_met_with_patience(void **state) {
  (void)state;
  assert_int_equal(zygote_pause_ns(0), CLOCK_S);
  assert_int_equal(zygote_pause_ns(3), 8 * CLOCK_S);
  for (unsigned i = 0; i < 100; i++)
    assert_true(zygote_pause_ns(i) <= zygote_pause_ns(i + 1));
  assert_int_equal(zygote_pause_ns(1000), 300 * CLOCK_S);
}

static void one_spare_is_made_at_a_time(void **state) {
  (void)state;
  struct spare_view view = {.wanted = 2, .room = 10};
  assert_int_equal(spare_policy_due(&view), 0);
  view.starting = 1;
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
  view = (struct spare_view){.wanted = 2, .ready = 1, .room = 10};
  view.started_at = 1000 * CLOCK_S;
  assert_int_equal(spare_policy_due(&view), 1000 * CLOCK_S + SPARE_PAUSE_NS);
  view.ready = 2;
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
  view.ready = 3;
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
}

static void spares_leave_room_and_time_to_tasks(void **state) {
  (void)state;
  struct spare_view view = {.wanted = 2, .room = 0};
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
  view.room = -3;
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
  view.room = 1;
  view.started_at = 1000 * CLOCK_S;
  view.taken_at = 2000 * CLOCK_S;
  assert_int_equal(spare_policy_due(&view), 2000 * CLOCK_S + SPARE_RESPECT_NS);
  view.wanted = 0;
  assert_int_equal(spare_policy_due(&view), KEEPER_NEVER);
}

static void spares_that_fail_are_made_ever_more_rarely(void **state) {
  (void)state;
  struct spare_view view = {.wanted = 1, .room = 1, .started_at = 1};
  int64_t before = spare_policy_due(&view);
  for (unsigned i = 1; i < 100; i++) {
    view.failures = i;
    assert_true(spare_policy_due(&view) >= before);
    before = spare_policy_due(&view);
  }
  assert_int_equal(before, 1 + SPARE_PAUSE_MOST_NS);
}

static void age_is_counted_from_readiness(void **state) {
  (void)state;
  assert_false(spare_policy_is_old(CLOCK_S, 60 * CLOCK_S, 60));
  assert_true(spare_policy_is_old(CLOCK_S, 61 * CLOCK_S, 60));
  assert_false(spare_policy_is_old(CLOCK_S, 1000000 * CLOCK_S, 0));
}

static char *const words[] = {"python3", "-m", "x", "", NULL};
static char *const variables[] = {"A=b", "C=", NULL};
static char *const paths[] = {"/opt/a", NULL};

static struct shim_order full_order(const struct cgroup *group,
                                    const struct jail_filter *filter) {
  return (struct shim_order){
      .title = "id task",
      .argv = words,
      .environment = variables,
      .working_directory = "/work",
      .directory = 11,
      .terminate_grace_ms = 1234,
      .in_place = true,
      .attendance = 12,
      .jail = {.layers = JAIL_BIT(JAIL_PID) | JAIL_BIT(JAIL_MOUNT),
               .switch_user = true,
               .uid = 1001,
               .gid = 1002,
               .limits = {.memory = 5, .cpus = 0.5},
               .workspace = "/state/files",
               .workspace_inode = 77,
               .run = "/run/kernels/id",
               .read_only = paths,
               .workspace_owner = 13,
               .group = group,
               .entries = {14, 15, 16},
               .entry_count = 3,
               .group_directory = 17,
               .filter = filter,
               .landlock_abi = 4},
  };
}

static void assert_same_list(char *const *one, char *const *other) {
  for (; *other != NULL; one++, other++)
    assert_string_equal(*one, *other);
  assert_null(*one);
}

/* At the other end descriptors have other numbers. */
static void an_order_arrives_as_it_was_sent(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(SHIM_ORDER_BYTES);
  struct cgroup *group = NULL;
  struct jail_filter filter = {.program = BUF_INIT(64)};
  const char group_text[] = "1 0 /sys/fs/cgroup/memory/x\n";
  assert_int_equal(cgroup_parse(group_text, &group, NULL), 0);
  buf_append(&filter.program, "\0\1\2\3", 4);
  struct shim_order order = full_order(group, &filter), got;
  int descriptors[SHIM_ORDER_DESCRIPTORS], report = -1;
  int count = shim_order_pack(&order, 10, &bytes, descriptors);
  assert_int_equal(count, 8);
  for (int i = 0; i < count; i++) {
    assert_in_range(descriptors[i], 10, 17);
    descriptors[i] += 100;
  }
  struct jail seen;
  assert_int_equal(shim_order_peek(bytes.data, bytes.length, &seen), 0);
  assert_int_equal(seen.layers, order.jail.layers);
  assert_int_equal(shim_order_unpack(bytes.data, bytes.length, descriptors,
                                     count, &got, &report, NULL),
                   0);
  assert_int_equal(report, 110);
  assert_int_equal(got.directory, 111);
  assert_int_equal(got.attendance, 112);
  assert_int_equal(got.jail.workspace_owner, 113);
  assert_int_equal(got.jail.entries[2], 116);
  assert_int_equal(got.jail.group_directory, 117);
  assert_string_equal(got.title, "id task");
  assert_string_equal(got.working_directory, "/work");
  assert_same_list(got.argv, words);
  assert_same_list(got.environment, variables);
  assert_same_list(got.jail.read_only, paths);
  assert_string_equal(got.jail.workspace, "/state/files");
  assert_string_equal(got.jail.run, "/run/kernels/id");
  assert_int_equal(got.jail.limits.memory, 5);
  assert_int_equal(got.jail.workspace_inode, 77);
  assert_int_equal(got.terminate_grace_ms, 1234);
  CLEANUP(buf_free) struct buf described = BUF_INIT(BUF_LINE);
  cgroup_describe(got.jail.group, &described);
  assert_string_equal(buf_string(&described), group_text);
  assert_int_equal(got.jail.filter->program.length, 4);
  assert_memory_equal(got.jail.filter->program.data, "\0\1\2\3", 4);
  cgroup_free(group);
  cgroup_free((struct cgroup *)got.jail.group);
  buf_free(&filter.program);
  jail_filter_free((struct jail_filter *)got.jail.filter);
  free((void *)got.argv);
  free((void *)got.environment);
  free((void *)got.jail.read_only);
}

static void an_order_may_have_no_jail(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(SHIM_ORDER_BYTES);
  const struct shim_order order = {.title = "t",
                                   .argv = words,
                                   .environment = variables,
                                   .working_directory = "/w",
                                   .directory = 11};
  struct shim_order got;
  int descriptors[SHIM_ORDER_DESCRIPTORS], report = -1;
  assert_int_equal(shim_order_pack(&order, 10, &bytes, descriptors), 2);
  assert_int_equal(shim_order_unpack(bytes.data, bytes.length, descriptors, 2,
                                     &got, &report, NULL),
                   0);
  assert_int_equal(got.attendance, 0);
  assert_null(got.jail.read_only);
  assert_null(got.jail.group);
  assert_null(got.jail.filter);
  free((void *)got.argv);
  free((void *)got.environment);
}

/* What a cut order allocates is the dying process's own business. */
static void a_cut_order_is_refused(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(SHIM_ORDER_BYTES);
  const struct shim_order order = {.title = "t",
                                   .argv = words,
                                   .environment = variables,
                                   .working_directory = "/w",
                                   .directory = 11};
  struct shim_order got;
  int descriptors[SHIM_ORDER_DESCRIPTORS], report = -1;
  shim_order_pack(&order, 10, &bytes, descriptors);
  struct jail seen;
  assert_int_equal(shim_order_peek(bytes.data, 10, &seen), -1);
  assert_int_equal(
      shim_order_unpack(bytes.data, 10, descriptors, 2, &got, &report, NULL),
      -1);
  assert_int_equal(report, -1);
}

static void an_order_that_is_too_long_is_not_sent(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(SHIM_ORDER_BYTES);
  CLEANUP(mem_free_pointer) char *large = mem_new(SHIM_ORDER_BYTES);
  memset(large, 'x', SHIM_ORDER_BYTES - 1);
  char *const list[] = {large, NULL};
  const struct shim_order order = {.title = "t",
                                   .argv = words,
                                   .environment = list,
                                   .working_directory = "/w",
                                   .directory = 11};
  int descriptors[SHIM_ORDER_DESCRIPTORS];
  assert_int_equal(shim_order_pack(&order, 10, &bytes, descriptors), -1);
}

/* Whatever the system's settings are: the kernel doubles what is asked for, and
 * the defaults are larger. */
static void an_order_fits_into_a_socket(void **state) {
  (void)state;
  int pair[2], size = 0;
  socklen_t length = sizeof size;
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  CLEANUP(mem_close_descriptor) int near = pair[0];
  CLEANUP(mem_close_descriptor) int far = pair[1];
  getsockopt(near, SOL_SOCKET, SO_SNDBUF, &size, &length);
  assert_true((size_t)size > SHIM_ORDER_BYTES);
  CLEANUP(mem_free_pointer) char *bytes = mem_new(SHIM_ORDER_BYTES);
  assert_int_equal(send(near, bytes, SHIM_ORDER_BYTES, MSG_DONTWAIT),
                   SHIM_ORDER_BYTES);
  (void)far;
}

static void modules_of_a_task_come_first(void **state) {
  const struct {
    bool found;
    const char *directory, *file;
  } cases[] = {
      {false, "a", "a/b.py"},
      {false, "numpy", "numpy/data.csv"},
      {false, ".local", ".local/share"},
      {false, "pandas_x", "pandas_x.py"},
      {false, "matplotlib", "matplotlib/pyplot.py"},
      {true, ".local", ".local/lib"},
      {true, "numpy", "numpy/__init__.py"},
      {true, "a", "pandas.py"},
      {true, "matplotlib", "matplotlib/__init__.py"},
  };
  struct scratch *scratch = *state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char name[] = {(char)('0' + i), '\0'};
    int files = fs_make_and_open(scratch->directory, name, 0700, NULL);
    bool packages = strcmp(cases[i].file, ".local/lib") == 0;
    assert_int_equal(mkdirat(files, cases[i].directory, 0700), 0);
    close(openat(files, cases[i].file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(shadow_any(files, " numpy pandas\tmatplotlib.pyplot "),
                     cases[i].found);
    assert_int_equal(shadow_any(files, ""), packages);
    close(files);
  }
  assert_false(shadow_any(-1, "numpy"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_a_plain_ipykernel_suits),
      cmocka_unit_test(what_is_read_at_the_start_must_agree),
      cmocka_unit_test(failures_are_met_with_patience),
      cmocka_unit_test(one_spare_is_made_at_a_time),
      cmocka_unit_test(spares_leave_room_and_time_to_tasks),
      cmocka_unit_test(spares_that_fail_are_made_ever_more_rarely),
      cmocka_unit_test(age_is_counted_from_readiness),
      cmocka_unit_test(an_order_arrives_as_it_was_sent),
      cmocka_unit_test(an_order_may_have_no_jail),
      cmocka_unit_test(a_cut_order_is_refused),
      cmocka_unit_test(an_order_that_is_too_long_is_not_sent),
      cmocka_unit_test(an_order_fits_into_a_socket),
      cmocka_unit_test_setup_teardown(modules_of_a_task_come_first,
                                      scratch_make, scratch_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
