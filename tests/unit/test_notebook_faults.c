/* The notebook when things go wrong: a kill at any instant, a system call that
 * fails, a disk that is full. The file is valid each time, and no cell that was
 * reported as written is missing. */
#include "tests/unit/notebook_files.h"

#include "core/base/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

/* What a child has done so far, seen by the parent, too. */
struct progress {
  int tried, written; /* appends begun and reported as done */
  bool open;
};
static struct progress *progress;

static int share_progress(void **state) {
  (void)state;
  progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return progress == MAP_FAILED ? -1 : 0;
}

/* Memory holds these files: a sync costs nothing there. */
static struct place make_memory_place(void) {
  struct place place = {.path = "/dev/shm/cellpost-test-writer-XXXXXX"};
  assert_non_null(mkdtemp(place.path));
  place.directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(place.directory >= 0);
  return place;
}

static void remove_memory_place(struct place *place) {
  int memory = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(place->directory);
  fs_remove_tree(memory, place->path + strlen("/dev/shm/"), NULL);
  close(memory);
}

static void append(struct notebook *notebook, const char *source) {
  char id[40];
  snprintf(id, sizeof id, "cell-%d-%d", getpid(), progress->tried);
  const struct code_cell cell = code_cell(id, source, NULL);
  progress->tried++;
  if (notebook_append_code(notebook, &cell, NULL) == 0)
    progress->written++;
}

static void replace_first(struct notebook *notebook, const char *source) {
  const struct code_cell cell = code_cell("first", source, NULL);
  notebook_replace_code(notebook, &cell, NULL);
}

static void replace_last(struct notebook *notebook, const char *source) {
  char id[40];
  snprintf(id, sizeof id, "cell-%d-%d", getpid(), progress->tried - 1);
  const struct code_cell cell = code_cell(id, source, NULL);
  notebook_replace_code(notebook, &cell, NULL);
}

/* Whether the story syncs each version itself, or has it synced later. */
static bool sync_later;

static int open_for_story(const struct place *place, struct notebook **ret) {
  if (!sync_later)
    return notebook_open(place->directory, FS_SYNC_DATA, ret, NULL, NULL);
  if (start_later(NULL) < 0 ||
      notebook_open(place->directory, FS_SYNC_NONE, ret, NULL, NULL) < 0)
    return -1;
  notebook_sync_later(*ret, later);
  return 0;
}

/* All ways of writing, on a notebook that has a cell "first". */
static void story(const struct place *place) {
  struct notebook *notebook = NULL;
  if (open_for_story(place, &notebook) < 0)
    return;
  progress->open = true;
  append(notebook, "a cell");
  replace_last(notebook, "a cell that grows and grows and grows");
  append(notebook, "another");
  replace_first(notebook, "first, made long enough to move all the others");
  replace_first(notebook, "first");
  append(notebook, "one more");
  replace_last(notebook, "");
  notebook_close(notebook);
}

static void begin(const struct place *place) {
  struct notebook *notebook = open_notebook(place);
  const struct code_cell cell = code_cell("first", "first", NULL);
  assert_int_equal(notebook_append_code(notebook, &cell, NULL), 0);
  notebook_close(notebook);
}

/* Valid, and between what was reported and what was tried. Returns how many
 * cells there are now. */
static size_t check_after(const struct place *place, size_t before) {
  CLEANUP(json_done) struct json *root = parse_notebook(place);
  const struct json *cells = json_get(root, "cells");
  size_t count = json_length(cells);
  assert_in_range(count, before + (size_t)progress->written,
                  before + (size_t)progress->tried);
  const struct json *first = json_at(cells, 0);
  assert_string_equal(json_get_text(first, "id"), "first");
  assert_memory_equal(json_text(json_at(json_get(first, "source"), 0)), "first",
                      5);
  return count;
}

/* After whatever happened the next process can go on. */
static size_t go_on(const struct place *place) {
  char *aside = NULL;
  struct notebook *notebook = NULL;
  struct err err = {0};
  if (notebook_open(place->directory, FS_SYNC_NONE, &notebook, &aside, &err) <
      0)
    fail_msg("%s", err.text);
  assert_null(aside);
  char id[40];
  snprintf(id, sizeof id, "next-%d", (int)notebook_cells(notebook));
  const struct code_cell cell = code_cell(id, "1", NULL);
  assert_int_equal(notebook_append_code(notebook, &cell, &err), 0);
  replace_first(notebook, "first");
  size_t count = (size_t)notebook_cells(notebook);
  notebook_close(notebook);
  return count;
}

enum { RUNS_TO_THE_END = 1 << 20 };

static pid_t start_traced(const struct place *place) {
  *progress = (struct progress){0};
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    story(place);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSTOPPED(status));
  ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
  return child;
}

/* Goes to the next entry into or return from a system call; false when the
 * child has ended. Signals go through. */
static bool next_stop(pid_t child) {
  int status, signal = 0;
  do {
    ptrace(PTRACE_SYSCALL, child, NULL, signal);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
      return false;
    signal = WSTOPSIG(status);
  } while (signal != (SIGTRAP | 0x80));
  return true;
}

/* Kills at stop number `stop`. Returns false when the child ended before. */
static bool kill_at(const struct place *place, int stop) {
  pid_t child = start_traced(place);
  while (stop-- > 0)
    if (!next_stop(child))
      return false;
  kill(child, SIGKILL);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return true;
}

static void killed_around_each_system_call(void **state) {
  (void)state;
  struct place place = make_memory_place();
  begin(&place);
  size_t count = 1;
  int stop = 0;
  for (bool killed = true; killed; stop++) {
    killed = kill_at(&place, stop);
    check_after(&place, count);
    count = go_on(&place);
  }
  assert_true(stop > 100);
  remove_memory_place(&place);
}

#if defined(__x86_64__)
/* The calls on files, which a disk can make fail. */
static bool can_fail(unsigned long long number) {
  static const unsigned long long calls[] = {
      SYS_openat,    SYS_pread64, SYS_pwrite64,   SYS_copy_file_range,
      SYS_fcntl,     SYS_fstat,   SYS_newfstatat, SYS_ftruncate,
      SYS_fdatasync, SYS_fsync,   SYS_renameat2,  SYS_renameat,
      SYS_unlinkat,  SYS_fchmod,  SYS_close,
  };
  for (size_t i = 0; i < COUNT_OF(calls); i++)
    if (calls[i] == number)
      return true;
  return false;
}

/* Lets the file call number `call` fail with `number`, without doing it.
 * Returns false when there were fewer. */
static bool fail_at(const struct place *place, int call, int number) {
  pid_t child = start_traced(place);
  struct user_regs_struct registers;
  int seen = 0;
  bool failed = false;
  while (next_stop(child)) {
    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    bool hit = !failed && can_fail(registers.orig_rax) && seen++ == call;
    if (hit) {
      registers.orig_rax = (unsigned long long)-1;
      ptrace(PTRACE_SETREGS, child, NULL, &registers);
    }
    if (!next_stop(child))
      break;
    if (hit) {
      ptrace(PTRACE_GETREGS, child, NULL, &registers);
      registers.rax = (unsigned long long)-number;
      ptrace(PTRACE_SETREGS, child, NULL, &registers);
      failed = true;
    }
  }
  return failed;
}

/* A failure costs at most the operation that it hits: the others of the same
 * process, before and after, are written. */
static void any_call_may_fail(int number) {
  struct place place = make_memory_place();
  begin(&place);
  size_t count = 1;
  int call = 0;
  for (bool failed = true; failed; call++) {
    failed = fail_at(&place, call, number);
    if (progress->open) {
      assert_int_equal(progress->tried, 3);
      assert_true(progress->written >= 2);
    }
    check_after(&place, count);
    count = go_on(&place);
  }
  assert_true(call > 60);
  remove_memory_place(&place);
}

static void any_call_fails_with_an_io_error(void **state) {
  (void)state;
  any_call_may_fail(EIO);
}

static void any_call_finds_the_disk_full(void **state) {
  (void)state;
  any_call_may_fail(ENOSPC);
}

/* Runs the story with one call always failing; returns the cells written. */
static int without_call(const struct place *place, unsigned long long call,
                        int number) {
  pid_t child = start_traced(place);
  struct user_regs_struct registers;
  while (next_stop(child)) {
    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    /* fcntl only where it takes a lease. */
    bool hit = registers.orig_rax == call &&
               (call != SYS_fcntl || registers.rsi == F_SETLEASE);
    if (hit) {
      registers.orig_rax = (unsigned long long)-1;
      ptrace(PTRACE_SETREGS, child, NULL, &registers);
    }
    if (!next_stop(child))
      break;
    if (hit) {
      ptrace(PTRACE_GETREGS, child, NULL, &registers);
      registers.rax = (unsigned long long)-number;
      ptrace(PTRACE_SETREGS, child, NULL, &registers);
    }
  }
  return progress->written;
}

static void filesystems_that_lack_a_call(void **state) {
  (void)state;
  static const struct {
    unsigned long long call;
    int number;
  } lacks[] = {
      {SYS_fcntl, EINVAL},          {SYS_fcntl, EAGAIN},
      {SYS_renameat2, EINVAL},      {SYS_renameat2, ENOSYS},
      {SYS_copy_file_range, EXDEV},
  };
  struct place place = make_memory_place();
  begin(&place);
  size_t count = 1;
  for (size_t i = 0; i < COUNT_OF(lacks); i++) {
    assert_int_equal(without_call(&place, lacks[i].call, lacks[i].number), 3);
    assert_int_equal(check_after(&place, count), count + 3);
    count = go_on(&place);
  }
  remove_memory_place(&place);
}
#endif

/* Kills while it writes, at no particular point. CELLPOST_KILLS: how often. */
static void killed_at_random(void **state) {
  (void)state;
  const char *wish = getenv("CELLPOST_KILLS");
  int kills = wish == NULL ? 60 : atoi(wish);
  struct place place = make_place();
  begin(&place);
  size_t count = 1;
  srand(3);
  for (int i = 0; i < kills; i++) {
    *progress = (struct progress){0};
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      struct notebook *notebook = open_notebook(&place);
      for (;;) {
        append(notebook, "a cell");
        replace_last(notebook, "the same cell with more in it");
        replace_first(notebook, progress->tried % 2 ? "first" : "first longer");
        if (write(ready[1], "x", 1) != 1)
          _exit(1);
      }
    }
    char bytes[8];
    size_t wait_for = (size_t)rand() % sizeof bytes + 1;
    assert_true(read(ready[0], bytes, wait_for) > 0);
    int64_t moment = clock_monotonic_ns() + rand() % (300 * 1000);
    while (clock_monotonic_ns() < moment)
      continue;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[0]);
    close(ready[1]);
    count = check_after(&place, count);
  }
  check_with_nbformat(&place);
  remove_place(&place);
}

/* Fills the disk up but for some pages of 4 KiB. */
static void fill(const struct place *place, int pages) {
  static const char page[4096];
  int filler = openat(place->directory, "filler", O_WRONLY | O_CREAT, 0644);
  while (write(filler, page, sizeof page) == sizeof page)
    continue;
  struct stat status;
  assert_int_equal(fstat(filler, &status), 0);
  off_t size = status.st_size - (off_t)pages * (off_t)sizeof page;
  assert_int_equal(ftruncate(filler, size), 0);
  close(filler);
}

static int append_large(struct notebook *notebook, struct err *err) {
  static char source[6000];
  memset(source, 'x', sizeof source);
  char id[40];
  snprintf(id, sizeof id, "cell-%d", progress->tried++);
  const struct code_cell cell = {.id = id,
                                 .source = source,
                                 .source_length = sizeof source,
                                 .execution_count = -1};
  int result = notebook_append_code(notebook, &cell, err);
  assert_int_equal(notebook_has_cell(notebook, id), result == 0);
  return result;
}

/* With 0 to 7 pages left, appends until it does not fit, and once more when
 * there is room again. */
static void write_on_a_full_disk(const struct place *place) {
  struct notebook *notebook = open_notebook(place);
  size_t count = 0;
  struct err err = {0};
  for (int i = 0; i < 32; i++) {
    fill(place, i % 8);
    while (append_large(notebook, &err) == 0)
      count++;
    assert_int_equal(err.kind, ERR_NO_SPACE);
    CLEANUP(json_done) struct json *root = parse_notebook(place);
    assert_int_equal(json_length(json_get(root, "cells")), count);
    unlinkat(place->directory, "filler", 0);
    if (i % 3 == 0) {
      notebook_close(notebook);
      notebook = open_notebook(place);
    }
    assert_int_equal(append_large(notebook, &err), 0);
    count++;
    assert_int_equal(notebook_cells(notebook), count);
  }
  notebook_close(notebook);
  check_with_nbformat(place);
}

static bool mount_small_disk(const char *path) {
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
    return false;
  return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("tmpfs", path, "tmpfs", 0, "size=2m") == 0;
}

static void the_disk_is_full(void **state) {
  (void)state;
  enum { CANNOT_MOUNT = 77 };
  struct place place = make_place();
  pid_t child = fork();
  if (child == 0) {
    if (!mount_small_disk(place.path))
      _exit(CANNOT_MOUNT);
    place.directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    write_on_a_full_disk(&place);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  remove_place(&place);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_MOUNT)
    skip();
  assert_int_equal(status, 0);
}

static int set_sync_later(void **state) {
  sync_later = true;
  return share_progress(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(killed_around_each_system_call),
#if defined(__x86_64__)
    cmocka_unit_test(any_call_fails_with_an_io_error),
    cmocka_unit_test(any_call_finds_the_disk_full),
    cmocka_unit_test(filesystems_that_lack_a_call),
#endif
    cmocka_unit_test(killed_at_random),
    cmocka_unit_test(the_disk_is_full),
  };
  int failed = cmocka_run_group_tests_name("synced at once", tests,
                                           share_progress, NULL);
  return failed + cmocka_run_group_tests_name("synced later", tests,
                                              set_sync_later, NULL);
}
