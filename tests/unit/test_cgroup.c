/* Control groups: where they are, version 2 on a directory that plays its part,
 * and whichever version this host has for real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/cgroup/cgroup.h"
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

#define MIB (INT64_C(1) << 20)
#define LIMIT_MS 10000

static struct err err;

static struct cgroup_host located(const char *mountinfo, const char *membership,
                                  const char *base) {
  struct cgroup_view view = {mountinfo, membership};
  struct cgroup_host host = {0};
  cgroup_locate(&view, base, &host);
  return host;
}

static void release(struct cgroup_host *host) {
  cgroup_clear(&host->base);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    free(host->faults[i]);
}

static const char v1_mounts[] =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "34 25 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup "
    "rw,memory\n"
    "35 25 0:31 /docker/7 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "36 25 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void version_1_is_found(void **state) {
  (void)state;
  struct cgroup_host host = located(v1_mounts,
                                    "9:memory:/a/b\n"
                                    "8:pids:/docker/7/x\n"
                                    "3:cpu,cpuacct:/\n"
                                    "0::/u\n",
                                    NULL);
  assert_int_equal(host.base.version, 1);
  assert_string_equal(host.base.directories[CGROUP_MEMORY],
                      "/sys/fs/cgroup/memory/a/b");
  assert_string_equal(host.base.directories[CGROUP_PIDS],
                      "/sys/fs/cgroup/pids/x");
  assert_string_equal(host.base.directories[CGROUP_CPU],
                      "/sys/fs/cgroup/cpu,cpuacct");
  assert_string_equal(host.base.directories[CGROUP_ACCOUNT],
                      "/sys/fs/cgroup/cpu,cpuacct");
  assert_null(host.base.directories[CGROUP_FREEZER]);
  assert_string_equal(host.faults[CGROUP_FREEZER],
                      "there is no control group controller \"freezer\"");
  assert_null(host.faults[CGROUP_MEMORY]);
  release(&host);
}

static void a_group_outside_of_the_mount_is_not_found(void **state) {
  (void)state;
  struct cgroup_host host = located(v1_mounts,
                                    "8:pids:/docker/77/x\n"
                                    "9:memory:/../a\n",
                                    NULL);
  assert_int_equal(host.base.version, 0);
  assert_null(host.base.directories[CGROUP_PIDS]);
  assert_null(host.base.directories[CGROUP_MEMORY]);
  release(&host);
}

static void a_base_can_be_given(void **state) {
  (void)state;
  struct cgroup_host host = located(v1_mounts, "9:memory:/a\n", "/cellpost");
  assert_string_equal(host.base.directories[CGROUP_MEMORY],
                      "/sys/fs/cgroup/memory/cellpost");
  release(&host);
}

static void nothing_is_found_in_nothing(void **state) {
  (void)state;
  static const char *const texts[] = {"", "\n", "1 2 3\n", " - cgroup\n",
                                      "a b c d e - cgroup2 x\n"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct cgroup_host host = located(texts[i], texts[i], NULL);
    assert_int_equal(host.base.version, 0);
    for (size_t j = 0; j < CGROUP_COUNT; j++)
      assert_non_null(host.faults[j]);
    release(&host);
  }
}

/* A directory in the place of a version 2 file system. */
struct fake {
  char path[64];
  char *mountinfo;
  struct cgroup_host *host;
};

static void put(const struct fake *fake, const char *name, const char *text) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/%s", fake->path, name);
  CLEANUP(mem_free_pointer) char *directory = mem_copy_text(path);
  *strrchr(directory, '/') = '\0';
  assert_int_equal(fs_make_directories(directory, 0755, NULL), 0);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), strlen(text));
  close(file);
}

static void assert_holds(const struct fake *fake, const char *name,
                         const char *expected) {
  char text[1024];
  assert_int_equal(cgroup_file_read(fake->path, name, text, sizeof text), 0);
  assert_string_equal(text, expected);
}

static int make_fake(void **state) {
  struct fake *fake = mem_new(sizeof *fake);
  *state = fake;
  snprintf(fake->path, sizeof fake->path, "/tmp/cellpost-test-XXXXXX");
  if (mkdtemp(fake->path) == NULL)
    return -1;
  fake->mountinfo = mem_format(
      "30 23 0:26 / %s rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
      fake->path);
  static const char *const files[] = {
      "svc/cgroup.subtree_control",
      "svc/cellpost-i/cgroup.subtree_control",
      "svc/cellpost-i/k/memory.max",
      "svc/cellpost-i/k/memory.swap.max",
      "svc/cellpost-i/k/memory.oom.group",
      "svc/cellpost-i/k/memory.high",
      "svc/cellpost-i/k/pids.max",
      "svc/cellpost-i/k/cpu.max",
      "svc/cellpost-i/k/cgroup.procs",
      "svc/cellpost-i/k/cgroup.kill",
      "svc/cellpost-i/k/cgroup.freeze",
  };
  for (size_t i = 0; i < COUNT_OF(files); i++)
    put(fake, files[i], "");
  put(fake, "svc/cgroup.controllers", "cpuset cpu io memory pids\n");
  return 0;
}

static int remove_fake(void **state) {
  struct fake *fake = *state;
  cgroup_host_close(fake->host);
  int top = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int result = fs_remove_tree(top, fake->path + strlen("/tmp/"), NULL);
  close(top);
  free(fake->mountinfo);
  free(fake);
  return result;
}

static struct cgroup *make_faked(struct fake *fake, double cpus) {
  struct cgroup_view view = {fake->mountinfo, "0::/svc\n"};
  assert_int_equal(cgroup_host_open(NULL, "i", &view, &fake->host, &err), 0);
  struct cgroup_limits limits = {1000000, 77, cpus};
  struct cgroup *group = NULL;
  if (cgroup_make(fake->host, "k", &limits, &group, &err) != 0)
    fail_msg("%s", err.text);
  return group;
}

static void version_2_is_limited(void **state) {
  struct fake *fake = *state;
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 1.5);
  assert_int_equal(cgroup_version(fake->host), 2);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    assert_null(cgroup_fault(fake->host, (enum cgroup_controller)i));
  assert_holds(fake, "svc/cellpost-i/k/memory.max", "1000000");
  assert_holds(fake, "svc/cellpost-i/k/memory.swap.max", "0");
  assert_holds(fake, "svc/cellpost-i/k/memory.oom.group", "1");
  assert_holds(fake, "svc/cellpost-i/k/pids.max", "77");
  assert_holds(fake, "svc/cellpost-i/k/cpu.max", "150000 100000");
  assert_holds(fake, "svc/cgroup.subtree_control", "+cpu");
  assert_holds(fake, "svc/cellpost-i/cgroup.subtree_control", "+cpu");
  int entries[CGROUP_COUNT];
  assert_int_equal(cgroup_open_entries(group, entries, &err), 1);
  assert_int_equal(cgroup_enter(entries, 1, &err), 0);
  close(entries[0]);
  assert_holds(fake, "svc/cellpost-i/k/cgroup.procs", "0");
}

static void without_a_limit_of_processors_none_is_set(void **state) {
  struct fake *fake = *state;
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 0);
  assert_holds(fake, "svc/cellpost-i/k/cpu.max", "");
}

static void version_2_usage_is_read(void **state) {
  struct fake *fake = *state;
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 0);
  struct cgroup_usage usage;
  put(fake, "svc/cellpost-i/k/memory.max", "max\n");
  cgroup_read_usage(group, &usage);
  assert_int_equal(usage.cpu_us, -1);
  assert_int_equal(usage.memory, -1);
  assert_int_equal(usage.memory_limit, -1);
  put(fake, "svc/cellpost-i/k/cpu.stat",
      "usage_usec 12345\nuser_usec 12000\nsystem_usec 345\n");
  put(fake, "svc/cellpost-i/k/memory.current", "2000\n");
  put(fake, "svc/cellpost-i/k/memory.peak", "3000\n");
  put(fake, "svc/cellpost-i/k/memory.max", "4000\n");
  put(fake, "svc/cellpost-i/k/memory.stat",
      "anon_thp 7\nanon 900\nfile 1000\nshmem 100\n");
  put(fake, "svc/cellpost-i/k/memory.events",
      "low 0\nhigh 3\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n");
  put(fake, "svc/cellpost-i/k/pids.current", "5\n");
  put(fake, "svc/cellpost-i/k/pids.events", "max 6\n");
  cgroup_read_usage(group, &usage);
  assert_int_equal(usage.cpu_us, 12345);
  assert_int_equal(usage.memory, 2000);
  assert_int_equal(usage.memory_peak, 3000);
  assert_int_equal(usage.memory_limit, 4000);
  assert_int_equal(usage.memory_fixed, 1000);
  assert_int_equal(usage.oom_kills, 1);
  assert_int_equal(usage.pids, 5);
  assert_int_equal(usage.pids_refused, 6);
}

static void version_2_watches_memory_by_its_events(void **state) {
  struct fake *fake = *state;
  put(fake, "svc/cellpost-i/k/memory.events", "high 0\n");
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 0);
  struct cgroup_watch watch = cgroup_watch_memory(group, 900000);
  assert_true(watch.descriptor >= 0);
  assert_int_equal(watch.events, POLLPRI);
  assert_holds(fake, "svc/cellpost-i/k/memory.high", "900000");
  cgroup_watch_clear(&watch);
  close(watch.descriptor);
}

static void version_2_kills_at_once(void **state) {
  struct fake *fake = *state;
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 0);
  assert_int_equal(cgroup_kill(group, 100), 0);
  assert_holds(fake, "svc/cellpost-i/k/cgroup.kill", "");
  /* a pid that no process has */
  put(fake, "svc/cellpost-i/k/cgroup.procs", "99999999\n");
  assert_int_equal(cgroup_kill(group, 20), 1);
  assert_holds(fake, "svc/cellpost-i/k/cgroup.kill", "1");
}

static void a_keeper_in_its_own_place_makes_groups_beside_it(void **state) {
  struct fake *fake = *state;
  put(fake, "svc/cellpost-keeper/cgroup.controllers", "memory pids\n");
  struct cgroup_view view = {fake->mountinfo, "0::/svc/cellpost-keeper\n"};
  assert_int_equal(cgroup_host_open(NULL, "i", &view, &fake->host, &err), 0);
  assert_non_null(strstr(fake->host->instance.directories[CGROUP_MEMORY],
                         "/svc/cellpost-i"));
}

static void what_is_not_handed_down_is_a_fault(void **state) {
  struct fake *fake = *state;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/svc/cgroup.subtree_control", fake->path);
  unlink(path);
  struct cgroup_view view = {fake->mountinfo, "0::/svc\n"};
  assert_int_equal(cgroup_host_open(NULL, "i", &view, &fake->host, &err), 0);
  const char *fault = cgroup_fault(fake->host, CGROUP_MEMORY);
  assert_non_null(fault);
  assert_non_null(strstr(fault, "does not hand down"));
  assert_null(cgroup_fault(fake->host, CGROUP_FREEZER));
}

static void a_group_can_be_written_down(void **state) {
  struct fake *fake = *state;
  CLEANUP(cgroup_done) struct cgroup *group = make_faked(fake, 0);
  CLEANUP(cgroup_done) struct cgroup *again = NULL;
  struct buf text = BUF_INIT(BUF_SMALL), second = BUF_INIT(BUF_SMALL);
  assert_int_equal(cgroup_describe(group, &text), 0);
  assert_int_equal(cgroup_parse(buf_string(&text), &again, &err), 0);
  assert_int_equal(cgroup_describe(again, &second), 0);
  assert_string_equal(buf_string(&text), buf_string(&second));
  buf_free(&text);
  buf_free(&second);
  static const char *const bad[] = {
      "x",       "1 0",    "3 0 /a\n",  "1 9 /a\n",
      "1 0 a\n", "1 0 /a", "1 -1 /a\n", "1 0 /a\n1 0 /b\n"};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct cgroup *none = NULL;
    assert_int_equal(cgroup_parse(bad[i], &none, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_null(none);
  }
}

/* From here on with real groups, where this host lets us. */
static struct cgroup_host *real_host(void) {
  char instance[32];
  struct cgroup_host *host = NULL;
  snprintf(instance, sizeof instance, "unit-%d", (int)getpid());
  assert_int_equal(cgroup_host_open(NULL, instance, NULL, &host, &err), 0);
  if (cgroup_fault(host, CGROUP_MEMORY) != NULL ||
      cgroup_fault(host, CGROUP_PIDS) != NULL) {
    cgroup_host_close(host);
    skip();
  }
  return host;
}

static struct cgroup *real_group(struct cgroup_host *host, int64_t memory) {
  struct cgroup_limits limits = {memory, 20, 0.5};
  struct cgroup *group = NULL;
  if (cgroup_make(host, "k", &limits, &group, &err) != 0)
    fail_msg("%s", err.text);
  return group;
}

/* A child in the group that does `what` and exits with its result. */
static pid_t start_in(const struct cgroup *group, int (*what)(void)) {
  int entries[CGROUP_COUNT];
  int count = cgroup_open_entries(group, entries, &err);
  assert_true(count > 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0)
    _exit(cgroup_enter(entries, count, NULL) == 0 ? what() : 99);
  while (count > 0)
    close(entries[--count]);
  return pid;
}

/* Until that many processes are in the group. */
static void await_pids(const struct cgroup *group, int64_t count) {
  struct cgroup_usage usage = {0};
  for (int i = 0; i < LIMIT_MS && usage.pids != count; i++) {
    cgroup_read_usage(group, &usage);
    poll(NULL, 0, 1);
  }
  assert_int_equal(usage.pids, count);
}

static int wait_for(pid_t pid) {
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void finish(struct cgroup_host *host, struct cgroup *group) {
  assert_int_equal(cgroup_kill(group, LIMIT_MS), 0);
  if (cgroup_remove(group, LIMIT_MS, &err) != 0)
    fail_msg("%s", err.text);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (group->directories[i] != NULL)
      assert_int_equal(access(group->directories[i], F_OK), -1);
  char *instance = mem_copy_text(host->instance.directories[CGROUP_MEMORY]);
  cgroup_host_close(host);
  assert_int_equal(access(instance, F_OK), -1);
  free(instance);
  cgroup_free(group);
}

static int touch(int64_t bytes) {
  char *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 1;
  for (int64_t i = 0; i < bytes; i += 4096)
    ((volatile char *)memory)[i] = 1;
  return 0;
}

static int touch_too_much(void) { return touch(200 * MIB); }
static int touch_a_lot(void) {
  touch(40 * MIB);
  pause();
  return 0;
}

static void too_much_memory_kills_and_is_counted(void **state) {
  (void)state;
  struct cgroup_host *host = real_host();
  struct cgroup *group = real_group(host, 64 * MIB);
  int status = wait_for(start_in(group, touch_too_much));
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  struct cgroup_usage usage;
  cgroup_read_usage(group, &usage);
  assert_int_equal(usage.oom_kills, 1);
  assert_int_equal(usage.memory_limit, 64 * MIB);
  assert_true(usage.memory_peak > 60 * MIB && usage.memory_peak <= 64 * MIB);
  assert_true(usage.cpu_us > 0);
  finish(host, group);
}

static void tight_memory_is_told(void **state) {
  (void)state;
  struct cgroup_host *host = real_host();
  struct cgroup *group = real_group(host, 64 * MIB);
  struct cgroup_watch watch = cgroup_watch_memory(group, 36 * MIB);
  assert_true(watch.descriptor >= 0);
  struct pollfd polled = {.fd = watch.descriptor, .events = watch.events};
  assert_int_equal(poll(&polled, 1, 0), 0);
  pid_t pid = start_in(group, touch_a_lot);
  assert_int_equal(poll(&polled, 1, LIMIT_MS), 1);
  cgroup_watch_clear(&watch);
  struct cgroup_usage usage = {0};
  for (int i = 0; i < LIMIT_MS && usage.memory_fixed < 36 * MIB; i++) {
    cgroup_read_usage(group, &usage);
    poll(NULL, 0, 1);
  }
  assert_true(usage.memory_fixed >= 36 * MIB);
  assert_true(usage.memory >= usage.memory_fixed);
  assert_int_equal(usage.pids, 1);
  close(watch.descriptor);
  kill(pid, SIGKILL);
  wait_for(pid);
  finish(host, group);
}

static int fork_until_refused(void) {
  for (int i = 0; i < 100; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      for (;;)
        pause();
    }
    if (pid < 0)
      return errno == EAGAIN ? i : 98;
  }
  return 97;
}

static void processes_are_limited_and_killed_together(void **state) {
  (void)state;
  struct cgroup_host *host = real_host();
  struct cgroup *group = real_group(host, 64 * MIB);
  int status = wait_for(start_in(group, fork_until_refused));
  assert_int_equal(WEXITSTATUS(status), 19);
  struct cgroup_usage usage;
  cgroup_read_usage(group, &usage);
  assert_int_equal(usage.pids, 19);
  assert_int_equal(usage.pids_refused, 1);
  finish(host, group);
}

static bool knows_none(void *context, const char *name) {
  (void)context, (void)name;
  return false;
}
static bool knows_all(void *context, const char *name) {
  (void)context, (void)name;
  return true;
}

static void unknown_groups_are_swept(void **state) {
  (void)state;
  struct cgroup_host *host = real_host();
  struct cgroup *group = real_group(host, 64 * MIB);
  pid_t pid = start_in(group, touch_a_lot);
  await_pids(group, 1);
  cgroup_sweep(host, knows_all, NULL);
  assert_int_equal(access(group->directories[CGROUP_MEMORY], F_OK), 0);
  signal(SIGCHLD, SIG_IGN); /* reaped without us */
  cgroup_sweep(host, knows_none, NULL);
  signal(SIGCHLD, SIG_DFL);
  assert_int_equal(kill(pid, 0), -1);
  assert_int_equal(access(group->directories[CGROUP_MEMORY], F_OK), -1);
  finish(host, group);
}

#define FAKE(name) cmocka_unit_test_setup_teardown(name, make_fake, remove_fake)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(version_1_is_found),
      cmocka_unit_test(a_group_outside_of_the_mount_is_not_found),
      cmocka_unit_test(a_base_can_be_given),
      cmocka_unit_test(nothing_is_found_in_nothing),
      FAKE(version_2_is_limited),
      FAKE(without_a_limit_of_processors_none_is_set),
      FAKE(version_2_usage_is_read),
      FAKE(version_2_watches_memory_by_its_events),
      FAKE(version_2_kills_at_once),
      FAKE(a_keeper_in_its_own_place_makes_groups_beside_it),
      FAKE(what_is_not_handed_down_is_a_fault),
      FAKE(a_group_can_be_written_down),
      cmocka_unit_test(too_much_memory_kills_and_is_counted),
      cmocka_unit_test(tight_memory_is_told),
      cmocka_unit_test(processes_are_limited_and_killed_together),
      cmocka_unit_test(unknown_groups_are_swept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
