/* What a shim looks after: memory that gets tight, sizes of directories, and
 * what it writes down of it. And what a kernel must be able to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs_usage.h"
#include "core/base/mem.h"
#include "core/cgroup/meter.h"
#include "core/jail/host/jail_paths.h"
#include "core/jail/host/jail_probe.h"
#include "core/jail/host/jail_record.h"
#include "core/jail/watch/jail_held.h"
#include "core/jail/watch/jail_notice.h"
#include "core/jail/watch/jail_watch.h"
#include "core/process/process.h"
#include "tests/unit/scratch.h"

#define MIB (INT64_C(1) << 20)

static struct err err;

static void memory_interrupts_once_for_each_time(void **state) {
  (void)state;
  static const struct {
    int64_t fixed;
    bool trips;
  } steps[] = {
      {100, false}, {899, false}, {900, true},  {900, false}, {910, false},
      {925, true}, /* it grows on: by a quarter of the margin */
      {940, false}, {950, true},  {860, false}, {940, false}, /* not far enough
                                                                 down */
      {849, false}, {950, true}, /* now it was, and it is back */
      {-1, false},  {900, true},
  };
  struct jail_watch_trigger trigger = {900, 100, 0};
  for (size_t i = 0; i < COUNT_OF(steps); i++)
    if (jail_watch_trips(&trigger, steps[i].fixed) != steps[i].trips)
      fail_msg("step %zu", i);
}

static void a_workspace_that_goes_on_to_grow_is_killed(void **state) {
  (void)state;
  static const struct {
    int64_t mebibytes, files;
    enum jail_verdict verdict;
  } steps[] = {
      {50, 10, JAIL_FINE},        {101, 10, JAIL_INTERRUPT},
      {110, 10, JAIL_FINE}, /* a little: it is being stopped */
      {130, 10, JAIL_KILL_NOW},   {90, 10, JAIL_FINE},
      {105, 10, JAIL_INTERRUPT},  {50, 10, JAIL_FINE},
      {50, 1001, JAIL_INTERRUPT}, {50, 1050, JAIL_FINE},
      {50, 1200, JAIL_KILL_NOW},
  };
  struct jail_quota quota = {.most = {100 * MIB, 1000}};
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    struct fs_usage usage = {steps[i].mebibytes * MIB, steps[i].files};
    if (jail_watch_judge(&quota, usage, (struct fs_usage){0}, 1) !=
        steps[i].verdict)
      fail_msg("step %zu", i);
  }
}

static void what_was_there_at_the_start_is_let_be(void **state) {
  (void)state;
  static const struct {
    int64_t mebibytes, files;
    enum jail_verdict verdict;
  } steps[] = {
      {300, 10, JAIL_FINE}, /* found at the start */
      {310, 10, JAIL_FINE},      {320, 10, JAIL_INTERRUPT},
      {340, 10, JAIL_KILL_NOW},  {200, 10, JAIL_FINE}, /* the base shrinks */
      {250, 10, JAIL_INTERRUPT}, {90, 10, JAIL_FINE},
      {101, 10, JAIL_INTERRUPT},
  };
  struct jail_quota quota = {.most = {100 * MIB, 1000}};
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    struct fs_usage usage = {steps[i].mebibytes * MIB, steps[i].files};
    if (jail_watch_judge(&quota, usage, (struct fs_usage){0}, 1) !=
        steps[i].verdict)
      fail_msg("step %zu", i);
  }
}

/* They cannot be deleted to get back to the size. */
static void files_without_a_name_are_not_kept_for_long(void **state) {
  (void)state;
  static const struct {
    int64_t named, held, second;
    enum jail_verdict verdict;
  } steps[] = {
      {10, 80, 1, JAIL_FINE},      {10, 95, 2, JAIL_INTERRUPT},
      {10, 95, 6, JAIL_FINE},      {10, 50, 7, JAIL_FINE},
      {10, 95, 8, JAIL_INTERRUPT}, {101, 5, 12, JAIL_FINE},
      {10, 95, 13, JAIL_FINE},     {10, 95, 17, JAIL_FINE},
      {10, 95, 18, JAIL_KILL_NOW},
  };
  struct jail_quota quota = {.most = {100 * MIB, 1000}};
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    struct fs_usage held = {steps[i].held * MIB, 1};
    struct fs_usage usage = {(steps[i].named + steps[i].held) * MIB, 10};
    if (jail_watch_judge(&quota, usage, held, steps[i].second * CLOCK_S) !=
        steps[i].verdict)
      fail_msg("step %zu", i);
  }
}

static void make_deep(int directory, int depth) {
  int current = openat(directory, ".", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; i++) {
    assert_int_equal(mkdirat(current, "d", 0700), 0);
    int next = openat(current, "d", O_RDONLY | O_DIRECTORY);
    close(current);
    current = next;
  }
  int file = openat(current, "bottom", O_WRONLY | O_CREAT, 0600);
  char block[65536];
  memset(block, 'x', sizeof block);
  assert_int_equal(write(file, block, sizeof block), sizeof block);
  close(file);
  close(current);
}

static void a_directory_is_counted_to_its_bottom(void **state) {
  const struct scratch *scratch = *state;
  const struct fs_usage most = {1 << 30, 1 << 20};
  assert_int_equal(fs_usage_count(scratch->directory, most).files, 0);
  make_deep(scratch->directory, 3000);
  assert_int_equal(symlinkat("/usr", scratch->directory, "usr"), 0);
  assert_int_equal(symlinkat("..", scratch->directory, "up"), 0);
  struct fs_usage usage = fs_usage_count(scratch->directory, most);
  assert_int_equal(usage.files, 3003);
  assert_true(usage.bytes >= 65536);
}

/* A child that holds two files without a name, one of them twice, and one with
 * a name; `told` says when it does. */
static _Noreturn void hold(int directory, int told) {
  static const char *const names[] = {"open", "mapped", "named"};
  static char block[65536] = "x";
  int files[COUNT_OF(names)];
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    files[i] = openat(directory, names[i], O_RDWR | O_CREAT, 0600);
    if (write(files[i], block, sizeof block) != sizeof block ||
        (i != 2 && unlinkat(directory, names[i], 0) != 0))
      _exit(1);
  }
  if (dup(files[0]) < 0 || mmap(NULL, sizeof block, PROT_READ, MAP_SHARED,
                                files[1], 0) == MAP_FAILED)
    _exit(1);
  close(files[1]);
  (void)!write(told, "", 1);
  for (;;)
    pause();
}

static void files_without_a_name_are_counted_once(void **state) {
  const struct scratch *scratch = *state;
  struct stat status;
  int told[2];
  char byte;
  assert_int_equal(fstat(scratch->directory, &status), 0);
  struct fs_usage before = jail_held_count(status.st_dev);
  assert_int_equal(pipe(told), 0);
  pid_t child = fork();
  if (child == 0)
    hold(scratch->directory, told[1]);
  close(told[1]);
  assert_int_equal(read(told[0], &byte, 1), 1);
  struct fs_usage usage = jail_held_count(status.st_dev);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(told[0]);
  assert_int_equal(usage.files - before.files, 2);
  assert_true(usage.bytes - before.bytes >= 2 * 65536);
}

static void counting_ends_when_it_is_too_much(void **state) {
  const struct scratch *scratch = *state;
  make_deep(scratch->directory, 500);
  struct fs_usage usage =
      fs_usage_count(scratch->directory, (struct fs_usage){1 << 30, 100});
  assert_int_equal(usage.files, 101);
}

static void holes_do_not_count(void **state) {
  const struct scratch *scratch = *state;
  int file = openat(scratch->directory, "s", O_WRONLY | O_CREAT, 0600);
  assert_int_equal(ftruncate(file, 1 << 30), 0);
  close(file);
  struct fs_usage usage =
      fs_usage_count(scratch->directory, (struct fs_usage){1 << 30, 1 << 20});
  assert_int_equal(usage.files, 1);
  assert_true(usage.bytes < MIB);
}

static void interrupts_are_written_down(void **state) {
  const struct scratch *scratch = *state;
  int64_t before = clock_wall_us();
  struct jail_notice notice = jail_notice_read(scratch->directory);
  assert_int_equal(notice.memory_at, 0);
  assert_int_equal(notice.workspace_at, 0);
  jail_notice_write(scratch->directory, EXIT_WORKSPACE);
  notice = jail_notice_read(scratch->directory);
  assert_true(notice.workspace_at >= before && notice.memory_at == 0);
  jail_notice_write(scratch->directory, EXIT_MEMORY);
  struct jail_notice later = jail_notice_read(scratch->directory);
  assert_true(later.memory_at >= notice.workspace_at);
  assert_int_equal(later.workspace_at, notice.workspace_at);
}

static void write_text(int directory, const char *name, const char *text) {
  struct iovec part = {(void *)text, strlen(text)};
  assert_int_equal(
      fs_write_atomic(directory, name, 0644, &part, 1, FS_SYNC_NONE, NULL), 0);
}

static void garbled_records_are_refused(void **state) {
  const struct scratch *scratch = *state;
  struct jail_record record = {.uid = -7};
  assert_int_equal(jail_record_read(scratch->directory, &record, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  static const char *const texts[] = {"", "uid\n", "uid x\n", "uid -2\n",
                                      "uid 5\n1 0 relative\n"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    write_text(scratch->directory, "jail", texts[i]);
    assert_int_equal(jail_record_read(scratch->directory, &record, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_int_equal(record.uid, -7);
  }
  write_text(scratch->directory, "jail", "uid 5\n1 0 /a\n");
  assert_int_equal(jail_record_read(scratch->directory, &record, &err), 0);
  assert_int_equal(record.uid, 5);
  assert_int_equal(jail_record_write(scratch->directory, &record, &err), 0);
  cgroup_free(record.group);
  assert_int_equal(jail_record_read(scratch->directory, &record, &err), 0);
  cgroup_free(record.group);
}

/* Joins with spaces what a kernel would be shown; what stands in the scratch
 * directory is told without its path. */
static char *shown(const struct scratch *scratch, char *const *argv,
                   const char *kernelspec, const char *configured) {
  char *hidden_state = mem_format("%s/state", scratch->path);
  const char *const hidden[] = {hidden_state, "/run/cellpost", NULL};
  const struct jail_paths_order order = {argv, kernelspec, configured, hidden};
  char **paths = NULL;
  struct buf text = BUF_INIT(BUF_SMALL);
  int result = jail_paths_collect(&order, &paths, &err);
  size_t length = strlen(scratch->path);
  for (char **path = paths; result == 0 && *path != NULL; path++)
    buf_format(&text, "%s%s", text.length == 0 ? "" : " ",
               strncmp(*path, scratch->path, length) == 0 ? *path + length
                                                          : *path);
  jail_paths_free(paths);
  free(hidden_state);
  if (result == 0)
    return buf_take(&text);
  buf_free(&text);
  return NULL;
}

static char *in(const struct scratch *scratch, const char *name) {
  return mem_format("%s/%s", scratch->path, name);
}

static void assert_shown(const struct scratch *scratch, const char *program,
                         const char *argument, const char *expected) {
  CLEANUP(mem_free_pointer) char *first = in(scratch, program);
  CLEANUP(mem_free_pointer) char *second = in(scratch, argument);
  char *argv[] = {first, second, NULL};
  CLEANUP(mem_free_pointer) char *text = shown(scratch, argv, NULL, NULL);
  assert_non_null(text);
  assert_string_equal(text, expected);
}

static void make(const struct scratch *scratch, const char *directory,
                 const char *file, const char *text) {
  CLEANUP(mem_free_pointer) char *path = in(scratch, directory);
  assert_int_equal(fs_make_directories(path, 0755, NULL), 0);
  if (file == NULL)
    return;
  int opened = open(path, O_RDONLY | O_DIRECTORY);
  write_text(opened, file, text);
  close(opened);
}

static void a_program_brings_its_environment_along(void **state) {
  const struct scratch *scratch = *state;
  make(scratch, "opt/python/bin", "python3", "");
  make(scratch, "opt/python/lib", NULL, NULL);
  make(scratch, "venv/bin", NULL, NULL);
  make(scratch, "tool", "run.sh", "");
  make(scratch, "tool/bin", "alone", "");
  make(scratch, "copied/bin", "python", "");
  CLEANUP(mem_free_pointer)
  char *home =
      mem_format("version = 3\nhome = %s/opt/python/bin\n", scratch->path);
  make(scratch, "copied", "pyvenv.cfg", home);
  make(scratch, "venv", "pyvenv.cfg", "home = /usr/bin\n");
  CLEANUP(mem_free_pointer) char *link = in(scratch, "venv/bin/python");
  assert_int_equal(symlink("../../opt/python/bin/python3", link), 0);
  assert_shown(scratch, "tool/run.sh", "none", "/tool/run.sh");
  assert_shown(scratch, "tool/bin/alone", "none", "/tool/bin/alone");
  assert_shown(scratch, "opt/python/bin/python3", "tool/run.sh",
               "/opt/python /tool/run.sh");
  assert_shown(scratch, "copied/bin/python", "none", "/copied /opt/python");
  assert_shown(scratch, "none", "none", "");
  CLEANUP(mem_free_pointer) char *program = in(scratch, "venv/bin/python");
  char *argv[] = {program, NULL};
  CLEANUP(mem_free_pointer) char *text = shown(scratch, argv, NULL, NULL);
  assert_non_null(strstr(text, "/venv"));
  assert_non_null(strstr(text, "/opt/python"));
}

static void links_in_a_circle_end(void **state) {
  const struct scratch *scratch = *state;
  CLEANUP(mem_free_pointer) char *one = in(scratch, "one");
  assert_int_equal(symlink("two", one), 0);
  CLEANUP(mem_free_pointer) char *two = in(scratch, "two");
  assert_int_equal(symlink("one", two), 0);
  assert_shown(scratch, "one", "two", "");
}

static void what_is_there_anyway_is_not_listed(void **state) {
  const struct scratch *scratch = *state;
  char *argv[] = {"/usr/bin/env", "/bin/sh", "-c", "/lib", "", NULL};
  CLEANUP(mem_free_pointer)
  char *text = shown(scratch, argv, "/usr/share/jupyter/kernels/x",
                     "/opt:/srv/data:/opt:/usr/lib");
  assert_string_equal(text, "/opt /srv/data");
}

static void what_must_stay_hidden_is_not_shown(void **state) {
  const struct scratch *scratch = *state;
  make(scratch, "state", "database", "");
  CLEANUP(mem_free_pointer) char *inside = in(scratch, "state/database");
  char *argv[] = {"sh", inside, "/run/cellpost/kernels/1/connection.json",
                  NULL};
  CLEANUP(mem_free_pointer) char *text = shown(scratch, argv, NULL, NULL);
  assert_string_equal(text, "");
  static const char *const refused[] = {"/", "/run", "/proc", "/dev"};
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    err_clear(&err);
    assert_null(shown(scratch, argv, NULL, refused[i]));
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "must not be shown"));
  }
  assert_null(shown(scratch, argv, scratch->path, NULL));
}

static void paths_are_beneath_by_components(void **state) {
  (void)state;
  assert_true(jail_paths_is_beneath("/a/b", "/a"));
  assert_true(jail_paths_is_beneath("/a", "/a"));
  assert_true(jail_paths_is_beneath("/a/b", "/a/"));
  assert_true(jail_paths_is_beneath("/a", "/"));
  assert_false(jail_paths_is_beneath("/ab", "/a"));
  assert_false(jail_paths_is_beneath("/", "/a"));
}

/* A process in no group of a kernel's is measured by itself. */
static void a_process_is_metered(void **state) {
  (void)state;
  struct meter *meter = meter_open(getpid(), "no-kernel");
  int64_t first = meter_cpu(meter);
  assert_true(first > 0);
  for (volatile int i = 0; i < 30000000; i++)
    continue;
  assert_true(meter_cpu(meter) > first);
  assert_true(meter_peak(meter) > MIB);
  meter_close(meter);
  meter = meter_open(999999999, "no-kernel");
  assert_int_equal(meter_cpu(meter), -1);
  assert_int_equal(meter_peak(meter), -1);
  meter_close(meter);
}

static void assert_advice(const struct scratch *scratch, const char *expected) {
  char text[160];
  jail_probe_advice(scratch->path, text, sizeof text);
  assert_string_equal(text, expected);
}

static void what_forbids_user_namespaces_is_named(void **state) {
  const struct scratch *scratch = *state;
  const char *plain =
      "this host or container forbids them: run the keeper as root";
  assert_advice(scratch, plain);
  make(scratch, "user", "max_user_namespaces", "96365\n");
  make(scratch, "kernel", "unprivileged_userns_clone", "1\n");
  assert_advice(scratch, plain);
  make(scratch, "kernel", "apparmor_restrict_unprivileged_userns", "1\n");
  assert_advice(scratch,
                "kernel.apparmor_restrict_unprivileged_userns is 1: set it to "
                "0, or run the keeper as root");
  make(scratch, "user", "max_user_namespaces", "0\n");
  assert_advice(scratch, "user.max_user_namespaces is 0: set it to 10000, or "
                         "run the keeper as root");
}

#define SCRATCH(name)                                                          \
  cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

static void a_kill_counts_until_the_kernel_has_survived_it(void **state) {
  (void)state;
  struct jail_watch watch = {0};
  jail_watch_forget_kills(&watch, 0, 1 * CLOCK_S);
  jail_watch_forget_kills(&watch, 3, 2 * CLOCK_S); /* killed just now */
  assert_int_equal(watch.oom_kills, 0);
  jail_watch_forget_kills(&watch, 3, 10 * CLOCK_S);
  assert_int_equal(watch.oom_kills, 0);
  jail_watch_forget_kills(&watch, 3, 12 * CLOCK_S);
  assert_int_equal(watch.oom_kills, 3);
  jail_watch_forget_kills(&watch, 4, 30 * CLOCK_S);
  assert_int_equal(watch.oom_kills, 3);
  jail_watch_forget_kills(&watch, 5, 35 * CLOCK_S);
  jail_watch_forget_kills(&watch, 5, 44 * CLOCK_S);
  assert_int_equal(watch.oom_kills, 3);
  jail_watch_forget_kills(&watch, 5, 45 * CLOCK_S);
  assert_int_equal(watch.oom_kills, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_interrupts_once_for_each_time),
      cmocka_unit_test(a_workspace_that_goes_on_to_grow_is_killed),
      cmocka_unit_test(what_was_there_at_the_start_is_let_be),
      cmocka_unit_test_setup_teardown(a_directory_is_counted_to_its_bottom,
                                      scratch_make_fast, scratch_remove),
      SCRATCH(counting_ends_when_it_is_too_much),
      SCRATCH(files_without_a_name_are_counted_once),
      SCRATCH(holes_do_not_count),
      SCRATCH(interrupts_are_written_down),
      SCRATCH(garbled_records_are_refused),
      SCRATCH(a_program_brings_its_environment_along),
      SCRATCH(links_in_a_circle_end),
      SCRATCH(what_is_there_anyway_is_not_listed),
      SCRATCH(what_must_stay_hidden_is_not_shown),
      cmocka_unit_test(paths_are_beneath_by_components),
      cmocka_unit_test(a_process_is_metered),
      SCRATCH(what_forbids_user_namespaces_is_named),
      cmocka_unit_test(files_without_a_name_are_not_kept_for_long),
      cmocka_unit_test(a_kill_counts_until_the_kernel_has_survived_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
