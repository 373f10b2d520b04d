/* Shim and kernel process with shell scripts in the kernel's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/keeper/shim/shim.h"
#include "core/process/exit_record.h"
#include "core/process/log_ring.h"
#include "core/process/process.h"

#define LIMIT_MS 20000

struct room {
  char path[64];
  int directory;
};

static int make_room(void **state) {
  struct room *room = mem_new(sizeof *room);
  snprintf(room->path, sizeof room->path, "/tmp/cellpost-test-XXXXXX");
  if (mkdtemp(room->path) == NULL)
    return -1;
  room->directory = open(room->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *state = room;
  return room->directory < 0;
}

static int remove_room(void **state) {
  struct room *room = *state;
  int top = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int result = fs_remove_tree(top, room->path + strlen("/tmp/"), NULL);
  close(top);
  close(room->directory);
  free(room);
  return result;
}

static char *const plain_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                          "MARK=yes", NULL};

static int start(const struct room *room, char *const *argv,
                 struct shim_process *process, struct err *err) {
  struct shim_order order = {.title = "test",
                             .argv = argv,
                             .environment = plain_environment,
                             .working_directory = room->path,
                             .directory = room->directory,
                             .terminate_grace_ms = 200};
  return shim_start(&order, process, err);
}

static struct shim_process run(const struct room *room, const char *script) {
  char *argv[] = {"sh", "-c", (char *)script, NULL};
  struct shim_process process = {0};
  struct err err = {0};
  if (start(room, argv, &process, &err) != 0)
    fail_msg("%s", err.text);
  assert_true(process.pid > 0);
  assert_true(process.kernel_pid > 0);
  assert_true(process.pid_start > 0);
  assert_true(process.kernel_start > 0);
  return process;
}

static void await_end(const struct shim_process *process) {
  int descriptor = process_open(process->pid, process->pid_start);
  assert_true(descriptor >= 0);
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  assert_int_equal(poll(&polled, 1, LIMIT_MS), 1);
  close(descriptor);
  assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
}

static struct exit_record record_of(const struct room *room) {
  struct exit_record record = {0};
  struct err err = {0};
  if (exit_record_read(room->directory, &record, &err) != 0)
    fail_msg("%s", err.text);
  return record;
}

/* Waits until the script has written the file, as a sign. */
static void await_file(const struct room *room, const char *name) {
  for (int i = 0; i < LIMIT_MS; i++) {
    if (faccessat(room->directory, name, F_OK, 0) == 0)
      return;
    poll(NULL, 0, 1);
  }
  fail_msg("%s never came", name);
}

/* Pids that the script wrote into a file, one a line. */
static size_t read_pids(const struct room *room, const char *name, int64_t *ret,
                        size_t most) {
  struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(fs_read_file(room->directory, name, &text, NULL), 0);
  size_t count = 0;
  for (char *next = text.data; count < most && *next != '\0'; count++) {
    ret[count] = strtoll(next, &next, 10);
    next += *next == '\n';
  }
  buf_free(&text);
  return count;
}

static void assert_gone(int64_t pid) {
  assert_true(pid > 0);
  if (process_is_alive(pid, process_start_time(pid)))
    fail_msg("process %" PRId64 " still runs", pid);
}

static char *log_of(const struct room *room) {
  struct buf text = BUF_INIT(4 * LOG_RING_FILE);
  assert_int_equal(log_ring_read(room->directory, &text), 0);
  return buf_take(&text);
}

static void an_exit_code_is_kept(void **state) {
  struct shim_process process = run(*state, "exit 7");
  await_end(&process);
  struct exit_record record = record_of(*state);
  assert_int_equal(record.exit_code, 7);
  assert_int_equal(record.signal, 0);
  assert_true(record.memory_peak > 100000);
}

static void a_signal_is_kept(void **state) {
  struct shim_process process = run(*state, "kill -9 $$");
  await_end(&process);
  assert_int_equal(record_of(*state).exit_code, -1);
  assert_int_equal(record_of(*state).signal, SIGKILL);
}

static void output_is_logged_and_stdin_is_empty(void **state) {
  struct shim_process process =
      run(*state, "cat; echo out; echo err >&2; echo $MARK; env | wc -l");
  await_end(&process);
  CLEANUP(mem_free_pointer) char *log = log_of(*state);
  /* PATH, MARK, and PWD, which the shell adds */
  assert_string_equal(log, "out\nerr\nyes\n3\n");
}

static void a_flood_stays_within_the_cap(void **state) {
  struct shim_process process =
      run(*state, "i=0; while [ $i -lt 40 ]; do head -c 10000 /dev/zero | "
                  "tr '\\0' x; i=$((i + 1)); done; echo end");
  await_end(&process);
  CLEANUP(mem_free_pointer) char *log = log_of(*state);
  size_t length = strlen(log);
  assert_true(length >= LOG_RING_FILE && length < 2 * LOG_RING_FILE);
  assert_string_equal(log + length - 5, "xend\n");
  char tail[100];
  struct room *room = *state;
  log_ring_tail(room->directory, tail, sizeof tail);
  assert_int_equal(strlen(tail), sizeof tail - 1);
  assert_string_equal(tail + sizeof tail - 6, "xend\n");
}

static void a_program_that_is_not_there_is_told_at_once(void **state) {
  static const struct {
    const char *name, *fault;
  } cases[] = {{"/no/such/program", "No such file"},
               {"no-such-program", "No such file"},
               {"/etc/passwd", "Permission denied"},
               {"", "No such file"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct shim_process process = {.pid = -5};
    struct err err = {0};
    char *argv[] = {(char *)cases[i].name, NULL};
    struct room *room = *state;
    unlinkat(room->directory, "log.0", 0);
    unlinkat(room->directory, "log.1", 0);
    assert_int_equal(start(room, argv, &process, &err), -1);
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_int_equal(process.pid, -5);
    if (strstr(err.text, cases[i].fault) == NULL)
      fail_msg("%s: %s", cases[i].name, err.text);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
  }
}

static void a_missing_directory_is_told(void **state) {
  struct room room = *(struct room *)*state;
  strcat(room.path, "/none");
  struct shim_process process;
  struct err err = {0};
  char *argv[] = {"true", NULL};
  assert_int_equal(start(&room, argv, &process, &err), -1);
  assert_non_null(strstr(err.text, "/none"));
}

static void orphans_die_with_the_kernel(void **state) {
  struct shim_process process = run(
      *state, "(setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; "
              "trap \"\" TERM INT HUP; echo > ready1; wait; sleep 600' &) ; "
              "(sleep 600 & echo $! >> pids; echo > ready2) & "
              "while ! [ -e go ]; do sleep 0.01; done; exit 3");
  await_file(*state, "ready1");
  await_file(*state, "ready2");
  int64_t pids[8];
  size_t count = read_pids(*state, "pids", pids, 8);
  assert_int_equal(count, 3);
  for (size_t i = 0; i < count; i++)
    assert_true(process_is_alive(pids[i], process_start_time(pids[i])));
  struct room *room = *state;
  close(openat(room->directory, "go", O_CREAT | O_WRONLY, 0600));
  await_end(&process);
  for (size_t i = 0; i < count; i++)
    assert_gone(pids[i]);
  assert_int_equal(record_of(*state).exit_code, 3);
}

/* Each round doubles the processes; a bound keeps a failing test harmless. */
static void a_fork_bomb_is_caught(void **state) {
  struct shim_process process =
      run(*state, "cat > bomb <<'E'\n"
                  "[ $1 -gt 7 ] && exec sleep 600\n"
                  "setsid sh bomb $(($1 + 1)) & setsid sh bomb $(($1 + 1)) &\n"
                  "exec sleep 600\n"
                  "E\n"
                  "sh bomb 1 & sh bomb 1 & sleep 0.05; exit 0");
  await_end(&process);
  assert_int_equal(waitpid(-1, NULL, 0), -1);
  struct shim_process next = {0};
  struct err err = {0};
  char *argv[] = {"pgrep", "-f", "^(setsid )?sh bomb", NULL};
  struct room *room = *state;
  unlinkat(room->directory, "log.0", 0);
  unlinkat(room->directory, "log.1", 0);
  assert_int_equal(start(room, argv, &next, &err), 0);
  await_end(&next);
  assert_int_equal(record_of(*state).exit_code, 1);
}

static void signal_shim(const struct shim_process *process, int number) {
  assert_int_equal(kill(process->pid, number), 0);
}

static void an_interrupt_reaches_the_group(void **state) {
  struct shim_process process = run(*state, "trap 'exit 5' INT; echo > ready; "
                                            "while :; do sleep 0.05; done");
  await_file(*state, "ready");
  signal_shim(&process, SIGINT);
  await_end(&process);
  assert_int_equal(record_of(*state).exit_code, 5);
}

static void sigterm_ends_and_sigkill_follows(void **state) {
  struct shim_process process =
      run(*state, "trap '' TERM; echo > ready; while :; do sleep 0.1; done");
  await_file(*state, "ready");
  signal_shim(&process, SIGTERM);
  await_end(&process);
  assert_int_equal(record_of(*state).signal, SIGKILL);
}

static void a_stopped_kernel_can_be_terminated(void **state) {
  struct shim_process process = run(*state, "echo > ready; kill -STOP $$");
  await_file(*state, "ready");
  signal_shim(&process, SIGTERM);
  await_end(&process);
  assert_int_equal(record_of(*state).signal, SIGTERM);
}

static void sigquit_kills_at_once(void **state) {
  struct shim_process process =
      run(*state, "trap '' TERM QUIT; echo > ready; sleep 600; sleep 600");
  await_file(*state, "ready");
  signal_shim(&process, SIGQUIT);
  await_end(&process);
  assert_int_equal(record_of(*state).signal, SIGKILL);
}

static void the_shim_ignores_other_signals(void **state) {
  struct shim_process process =
      run(*state, "echo > ready; while ! [ -e go ]; do sleep 0.01; done");
  await_file(*state, "ready");
  static const int others[] = {SIGHUP,  SIGPIPE, SIGALRM, SIGUSR1,
                               SIGUSR2, SIGABRT, SIGCHLD};
  for (size_t i = 0; i < COUNT_OF(others); i++)
    signal_shim(&process, others[i]);
  struct room *room = *state;
  close(openat(room->directory, "go", O_CREAT | O_WRONLY, 0600));
  await_end(&process);
  assert_int_equal(record_of(*state).exit_code, 0);
}

static void the_kernel_starts_clean(void **state) {
  int leaked = open("/etc/passwd", O_RDONLY); /* not close-on-exec */
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  struct shim_process process = run(
      *state, "ls /proc/self/fd | wc -l; umask; ulimit -c; "
              "grep -E '^(SigBlk|NoNewPrivs)' /proc/self/status; "
              /* signals 1 to 28; the C library keeps 32 and 33 for itself */
              "sed -n 's/^SigIgn.*\\(.......\\)$/\\1/p' /proc/self/status; "
              "[ $(ps -o sid= $$) = $$ ] && echo session");
  await_end(&process);
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  close(leaked);
  CLEANUP(mem_free_pointer) char *log = log_of(*state);
  /* 0, 1, 2 and the directory that ls reads */
  assert_string_equal(log, "4\n0077\n0\n"
                           "SigBlk:\t0000000000000000\n"
                           "NoNewPrivs:\t1\n"
                           "0000000\n"
                           "session\n");
}

static void the_shim_holds_few_descriptors(void **state) {
  int leaked = open("/etc/passwd", O_RDONLY);
  struct shim_process process = run(*state, "echo > ready; sleep 600");
  await_file(*state, "ready");
  char path[64], target[128];
  snprintf(path, sizeof path, "/proc/%d/fd", (int)process.pid);
  int count = 0;
  DIR *listing = opendir(path);
  assert_non_null(listing);
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(listing);
  /* 0, 1, 2, directory, two logs, signals, output */
  assert_int_equal(count, 8);
  snprintf(path, sizeof path, "/proc/%d/cwd", (int)process.pid);
  ssize_t length = readlink(path, target, sizeof target - 1);
  assert_true(length > 0);
  target[length] = '\0';
  struct room *room = *state;
  assert_string_equal(target, room->path);
  signal_shim(&process, SIGQUIT);
  await_end(&process);
  close(leaked);
}

static void garbled_exit_records_are_refused(void **state) {
  static const char *const texts[] = {"",
                                      "exited",
                                      "exited 7\n",
                                      "exited 7 1 1",
                                      "went 7 1 1\n",
                                      "exited 7 1 1 plain\n",
                                      "exited 7 1 1 none 5\n",
                                      "exited 7 1 1 plain 5 6\n",
                                      "exited -1 1 1\n",
                                      "signaled x 1 1\n"};
  struct room *room = *state;
  struct exit_record record = {.exit_code = 99};
  struct err err = {0};
  assert_int_equal(exit_record_read(room->directory, &record, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct iovec part = {(void *)texts[i], strlen(texts[i])};
    assert_int_equal(fs_write_atomic(room->directory, "exit", 0600, &part, 1,
                                     FS_SYNC_NONE, NULL),
                     0);
    assert_int_equal(exit_record_read(room->directory, &record, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_int_equal(record.exit_code, 99);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_room, remove_room)

int main(int argc, char **argv) {
  (void)argc;
  shim_take_title_room(argv);
  const struct CMUnitTest tests[] = {
      TEST(an_exit_code_is_kept),
      TEST(a_signal_is_kept),
      TEST(output_is_logged_and_stdin_is_empty),
      TEST(a_flood_stays_within_the_cap),
      TEST(a_program_that_is_not_there_is_told_at_once),
      TEST(a_missing_directory_is_told),
      TEST(orphans_die_with_the_kernel),
      TEST(a_fork_bomb_is_caught),
      TEST(an_interrupt_reaches_the_group),
      TEST(sigterm_ends_and_sigkill_follows),
      TEST(a_stopped_kernel_can_be_terminated),
      TEST(sigquit_kills_at_once),
      TEST(the_shim_ignores_other_signals),
      TEST(the_kernel_starts_clean),
      TEST(the_shim_holds_few_descriptors),
      TEST(garbled_exit_records_are_refused),
  };
  /* Orphans of a shim that was killed must not be init's. */
  prctl(PR_SET_CHILD_SUBREAPER, 1UL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
