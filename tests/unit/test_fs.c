/* Opening beneath a directory, writing whole or not at all, reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "scratch.h"

static struct err err;

static void assert_content(int directory, const char *name, const char *text) {
  struct buf content = BUF_INIT(BUF_SMALL);
  assert_int_equal(fs_read_file(directory, name, &content, &err), 0);
  assert_string_equal(buf_string(&content), text);
  buf_free(&content);
}

static int write_text(int directory, const char *name, const char *text,
                      enum fs_sync sync) {
  const struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
  return fs_write_atomic(directory, name, 0640, &part, 1, sync, &err);
}

static void opening_stays_beneath(void **state) {
  const struct scratch *scratch = *state;
  int directory = scratch->directory;
  assert_int_equal(mkdirat(directory, "in", 0755), 0);
  scratch_file(directory, "in/file", "x");
  assert_int_equal(symlinkat("in", directory, "to-in"), 0);
  assert_int_equal(symlinkat("/etc/passwd", directory, "to-out"), 0);
  static const struct {
    const char *path;
    enum err_kind kind;
  } cases[] = {
      {"..", ERR_DENIED},           {"../x", ERR_DENIED},
      {"in/../../x", ERR_DENIED},   {"/etc/passwd", ERR_DENIED},
      {"to-in/file", ERR_DENIED},   {"to-out", ERR_DENIED},
      {"none", ERR_NOT_FOUND},      {"none/file", ERR_NOT_FOUND},
      {"in/file/x", ERR_NOT_FOUND}, {"", ERR_NOT_FOUND},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(
        fs_open_beneath(directory, cases[i].path, O_RDONLY, 0, &err), -1);
    assert_int_equal(err.kind, cases[i].kind);
  }
  int file = fs_open_beneath(directory, "in/../in/file", O_RDONLY, 0, &err);
  assert_true(file >= 0);
  assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
  close(file);
}

static void opening_does_not_follow_magic_links(void **state) {
  (void)state;
  int proc = fs_open_directory("/proc/self/fd", &err);
  assert_true(proc >= 0);
  assert_int_equal(fs_open_beneath(proc, "0", O_RDONLY, 0, &err), -1);
  assert_int_equal(err.kind, ERR_DENIED);
  close(proc);
}

static void opening_tells_the_kinds_apart(void **state) {
  const struct scratch *scratch = *state;
  int directory = scratch->directory;
  scratch_file(directory, "there", "x");
  int exclusive = O_WRONLY | O_CREAT | O_EXCL;
  assert_int_equal(fs_open_beneath(directory, "there", exclusive, 0600, &err),
                   -1);
  assert_int_equal(err.kind, ERR_CONFLICT);
  char longest[NAME_MAX + 2];
  memset(longest, 'n', sizeof longest);
  longest[NAME_MAX + 1] = '\0';
  assert_int_equal(fs_open_beneath(directory, longest, exclusive, 0600, &err),
                   -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(fs_open_beneath(directory, ".", O_WRONLY, 0, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(fs_open_directory("/no/such", &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void directories_are_made(void **state) {
  const struct scratch *scratch = *state;
  char path[128];
  snprintf(path, sizeof path, "%s/a//b/c/", scratch->path);
  assert_int_equal(fs_make_directories(path, 0755, &err), 0);
  assert_int_equal(fs_make_directories(path, 0700, &err), 0);
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  assert_int_equal(status.st_mode & 0777, 0755);
  scratch_file(scratch->directory, "file", "x");
  snprintf(path, sizeof path, "%s/file", scratch->path);
  assert_int_equal(fs_make_directories(path, 0755, &err), -1);
  assert_int_equal(err.kind, ERR_CONFLICT);
  snprintf(path, sizeof path, "%s/file/x", scratch->path);
  assert_int_equal(fs_make_directories(path, 0755, &err), -1);
}

static void one_directory_is_made_and_opened(void **state) {
  const struct scratch *scratch = *state;
  for (int i = 0; i < 2; i++) {
    int made = fs_make_and_open(scratch->directory, "new", 0700, &err);
    assert_true(made >= 0);
    close(made);
  }
  static const char *const refused[] = {"", ".", "..", "a/b", "../x", "/x"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    assert_int_equal(
        fs_make_and_open(scratch->directory, refused[i], 0700, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
  }
  assert_int_equal(symlinkat("/tmp", scratch->directory, "link"), 0);
  assert_int_equal(fs_make_and_open(scratch->directory, "link", 0700, &err),
                   -1);
  scratch_file(scratch->directory, "file", "x");
  assert_int_equal(fs_make_and_open(scratch->directory, "file", 0700, &err),
                   -1);
}

static void a_directory_is_opened_to_its_owner_again(void **state) {
  const struct scratch *scratch = *state;
  static const mode_t modes[] = {0, 0111, 0333, 0444, 02070};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    struct stat status;
    close(fs_make_and_open(scratch->directory, "own", 0755, &err));
    assert_int_equal(fchmodat(scratch->directory, "own", modes[i], 0), 0);
    int opened = fs_make_and_open(scratch->directory, "own", 0755, &err);
    assert_true(opened >= 0);
    assert_int_equal(fstat(opened, &status), 0);
    assert_int_equal(status.st_mode & 07777, modes[i] | 0700);
    close(opened);
  }
}

static void a_file_is_replaced_as_a_whole(void **state) {
  const struct scratch *scratch = *state;
  int directory = scratch->directory;
  assert_int_equal(write_text(directory, "file", "old", FS_SYNC_NONE), 0);
  int reader = openat(directory, "file", O_RDONLY);
  char one[] = "ne", two[] = "w", none[] = "";
  const struct iovec parts[] = {{one, 2}, {none, 0}, {two, 1}};
  mode_t mask = umask(077);
  assert_int_equal(
      fs_write_atomic(directory, "file", 0644, parts, 3, FS_SYNC_DATA, &err),
      0);
  umask(mask);
  assert_content(directory, "file", "new");
  char old[4] = "";
  assert_int_equal(read(reader, old, 3), 3);
  assert_string_equal(old, "old");
  close(reader);
  struct stat status;
  assert_int_equal(fstatat(directory, "file", &status, 0), 0);
  assert_int_equal(status.st_mode & 0777, 0644);
  assert_int_equal(scratch_count(scratch), 1);
}

static void the_longest_name_can_be_written(void **state) {
  const struct scratch *scratch = *state;
  char name[NAME_MAX + 2];
  memset(name, 'n', sizeof name);
  name[NAME_MAX] = '\0';
  assert_int_equal(write_text(scratch->directory, name, "x", FS_SYNC_NONE), 0);
  assert_content(scratch->directory, name, "x");
  name[NAME_MAX] = 'n';
  name[NAME_MAX + 1] = '\0';
  assert_int_equal(write_text(scratch->directory, name, "x", FS_SYNC_NONE), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(write_text(scratch->directory, "../x", "", FS_SYNC_NONE),
                   -1);
  assert_int_equal(scratch_count(scratch), 1);
}

static void a_symlink_is_replaced_not_followed(void **state) {
  const struct scratch *scratch = *state;
  scratch_file(scratch->directory, "target", "kept");
  assert_int_equal(symlinkat("target", scratch->directory, "link"), 0);
  assert_int_equal(write_text(scratch->directory, "link", "new", FS_SYNC_NONE),
                   0);
  assert_content(scratch->directory, "target", "kept");
  assert_content(scratch->directory, "link", "new");
}

static void a_directory_in_the_way_stays(void **state) {
  const struct scratch *scratch = *state;
  assert_int_equal(mkdirat(scratch->directory, "there", 0755), 0);
  assert_int_equal(write_text(scratch->directory, "there", "x", FS_SYNC_NONE),
                   -1);
  assert_int_equal(scratch_count(scratch), 1);
  assert_int_equal(unlinkat(scratch->directory, "there", AT_REMOVEDIR), 0);
}

/* Writes 1 MiB over "file", which holds "old"; all must be as before. */
static void assert_write_fails_cleanly(const struct scratch *scratch,
                                       enum err_kind kind) {
  char *big = calloc(1, 1 << 20);
  const struct iovec parts[] = {{big, 1 << 10}, {big, 1 << 20}};
  int result = fs_write_atomic(scratch->directory, "file", 0644, parts, 2,
                               FS_SYNC_DATA, &err);
  free(big);
  assert_int_equal(result, -1);
  assert_int_equal(err.kind, kind);
  assert_content(scratch->directory, "file", "old");
  assert_int_equal(scratch_count(scratch), 1);
}

static void a_size_limit_leaves_the_old_file(void **state) {
  const struct scratch *scratch = *state;
  scratch_file(scratch->directory, "file", "old");
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 64 << 10;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  assert_write_fails_cleanly(scratch, ERR_NO_SPACE);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
}

static void fill(int directory) {
  int file = openat(directory, "file", O_WRONLY | O_CREAT, 0644);
  assert_int_equal(write(file, "old", 3), 3);
  close(file);
}

/* In a process and a mount namespace of its own, so that nothing of the mount
 * can stay behind. */
static void on_a_small_disk(struct scratch *scratch, const char *options) {
  struct scratch small = *scratch;
  if (mount("tmpfs", scratch->path, "tmpfs", 0, options) != 0)
    _exit(77);
  small.directory = open(scratch->path, O_RDONLY | O_DIRECTORY);
  fill(small.directory);
  assert_write_fails_cleanly(&small, ERR_NO_SPACE);
  _exit(0);
}

static void run_on_a_small_disk(void **state, const char *options) {
  if (geteuid() != 0) {
    print_message("skipped: mounting a small disk needs root\n");
    skip();
  }
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
      _exit(77);
    on_a_small_disk(*state, options);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    print_message("skipped: this host lets nobody mount\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_full_disk_leaves_the_old_file(void **state) {
  run_on_a_small_disk(state, "size=64k");
}

static void no_inode_left_leaves_the_old_file(void **state) {
  run_on_a_small_disk(state, "nr_inodes=2");
}

static void reading_keeps_the_cap(void **state) {
  const struct scratch *scratch = *state;
  scratch_file(scratch->directory, "file", "12345");
  struct buf out = BUF_INIT(7);
  buf_text(&out, "ab");
  assert_int_equal(fs_read_file(scratch->directory, "file", &out, &err), 0);
  assert_string_equal(buf_string(&out), "ab12345");
  buf_truncate(&out, 3);
  assert_int_equal(fs_read_file(scratch->directory, "file", &out, &err), -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  assert_string_equal(buf_string(&out), "ab1");
  assert_int_equal(out.length, 3);
  buf_free(&out);
  int endless = open("/dev/zero", O_RDONLY);
  struct buf most = BUF_INIT(BUF_SMALL);
  assert_int_equal(fs_read_all(endless, &most, &err), -1);
  assert_int_equal(most.length, 0);
  buf_free(&most);
  close(endless);
}

static void only_regular_files_are_read(void **state) {
  const struct scratch *scratch = *state;
  assert_int_equal(mkfifoat(scratch->directory, "fifo", 0600), 0);
  struct buf out = BUF_INIT(10);
  assert_int_equal(fs_read_file(scratch->directory, "fifo", &out, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(fs_read_file(scratch->directory, ".", &out, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_int_equal(fs_read_file(scratch->directory, "none", &out, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  buf_free(&out);
}

static void everything_is_written(void **state) {
  const struct scratch *scratch = *state;
  int file = openat(scratch->directory, "file", O_RDWR | O_CREAT, 0600);
  assert_int_equal(fs_write_all(file, "hello world", 11, &err), 0);
  assert_int_equal(fs_pwrite_all(file, "W", 1, 6, &err), 0);
  close(file);
  assert_content(scratch->directory, "file", "hello World");
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
  assert_int_equal(fs_write_all(ends[1], "x", 1, &err), -1);
  assert_int_equal(err.kind, ERR_IO);
  assert_int_equal(fs_pwrite_all(ends[1], "x", 1, 0, &err), -1);
  signal(SIGPIPE, handler);
  close(ends[1]);
}

static volatile sig_atomic_t interruptions;

static void interrupted(int number) {
  (void)number;
  interruptions = interruptions + 1;
}

/* A writer that is signalled without pause while a slow reader drains a pipe:
 * every write(2) is short or fails with EINTR. */
static void signals_do_not_tear_a_write(void **state) {
  (void)state;
  enum { SIZE = 1 << 20 };
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  struct sigaction action = {.sa_handler = interrupted}, before;
  sigaction(SIGALRM, &action, &before);
  pid_t reader = fork();
  if (reader == 0) {
    static char chunk[997];
    size_t total = 0;
    ssize_t got;
    close(ends[1]);
    while ((got = read(ends[0], chunk, sizeof chunk)) > 0) {
      for (ssize_t i = 0; i < got; i++)
        if (chunk[i] != (char)((total + (size_t)i) % 251))
          _exit(1);
      total += (size_t)got;
      kill(getppid(), SIGALRM);
    }
    _exit(total == SIZE ? 0 : 2);
  }
  close(ends[0]);
  char *bytes = malloc(SIZE);
  for (size_t i = 0; i < SIZE; i++)
    bytes[i] = (char)(i % 251);
  assert_int_equal(fs_write_all(ends[1], bytes, SIZE, &err), 0);
  free(bytes);
  close(ends[1]);
  int status;
  while (waitpid(reader, &status, 0) < 0)
    assert_int_equal(errno, EINTR);
  sigaction(SIGALRM, &before, NULL);
  assert_int_equal(status, 0);
  assert_true(interruptions > 0);
}

static void names_are_shown_harmlessly(void **state) {
  (void)state;
  char text[FS_PRINTABLE];
  assert_string_equal(fs_printable("a\nb\x1b[1m\xff\xc3\xa9\xc2\x9b", text),
                      "a?b?[1m?\xc3\xa9?");
  char name[300];
  memset(name, 'x', sizeof name);
  name[299] = '\0';
  fs_printable(name, text);
  assert_string_equal(text + strlen(text) - 4, "x...");
  assert_false(fs_is_name("a/b"));
  assert_true(fs_is_name("..."));
}

int main(void) {
#define IN_SCRATCH(test)                                                       \
  cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(opening_stays_beneath),
      cmocka_unit_test(opening_does_not_follow_magic_links),
      IN_SCRATCH(opening_tells_the_kinds_apart),
      IN_SCRATCH(directories_are_made),
      IN_SCRATCH(one_directory_is_made_and_opened),
      IN_SCRATCH(a_directory_is_opened_to_its_owner_again),
      IN_SCRATCH(a_file_is_replaced_as_a_whole),
      IN_SCRATCH(the_longest_name_can_be_written),
      IN_SCRATCH(a_symlink_is_replaced_not_followed),
      IN_SCRATCH(a_directory_in_the_way_stays),
      IN_SCRATCH(a_size_limit_leaves_the_old_file),
      IN_SCRATCH(a_full_disk_leaves_the_old_file),
      IN_SCRATCH(no_inode_left_leaves_the_old_file),
      IN_SCRATCH(reading_keeps_the_cap),
      IN_SCRATCH(only_regular_files_are_read),
      IN_SCRATCH(everything_is_written),
      cmocka_unit_test(signals_do_not_tear_a_write),
      cmocka_unit_test(names_are_shown_harmlessly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
