#include "core/keeper/kernel_process.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

/* Shorter than PIPE_BUF, so that each is written and read whole (pipe(7)). */
struct report {
  bool failed;
  pid_t pid;
  int64_t start_time;
  struct err fault;
};

void kernel_process_close_others(const int *kept, size_t count) {
  unsigned from = 3;
  for (;;) {
    unsigned next = ~0U;
    for (size_t i = 0; i < count; i++)
      if ((unsigned)kept[i] >= from && (unsigned)kept[i] < next)
        next = (unsigned)kept[i];
    if (next > from)
      close_range(from, next == ~0U ? ~0U : next - 1, 0);
    if (next == ~0U)
      return;
    from = next + 1;
  }
}

static void send_report(int descriptor, const struct report *report) {
  ssize_t written;
  do
    written = write(descriptor, report, sizeof *report);
  while (written < 0 && errno == EINTR);
}

void kernel_process_report_start(int report, pid_t pid, int64_t start_time) {
  struct report start;
  memset(&start, 0, sizeof start);
  start.pid = pid;
  start.start_time = start_time;
  send_report(report, &start);
}

void kernel_process_report_failure(int report, const struct err *fault) {
  struct report failure;
  memset(&failure, 0, sizeof failure);
  failure.failed = true;
  failure.fault = *fault;
  send_report(report, &failure);
}

static void reset_signals(void) {
  for (int number = 1; number < NSIG; number++)
    signal(number, SIG_DFL);
}

static void unblock_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *search_path(char *const *environment) {
  for (; *environment != NULL; environment++)
    if (strncmp(*environment, "PATH=", 5) == 0)
      return *environment + 5;
  return "/usr/bin:/bin";
}

/* As execvpe(3), but with the PATH of the new environment, not our own; returns
 * only on failure, with errno. */
static void run_program(const struct shim_order *order) {
  const char *name = order->argv[0];
  if (strchr(name, '/') != NULL) {
    execve(name, order->argv, order->environment);
    return;
  }
  int worst = ENOENT;
  const char *next = *name == '\0' ? "" : search_path(order->environment);
  while (*next != '\0') {
    char path[4096];
    size_t length = strcspn(next, ":");
    int written =
        snprintf(path, sizeof path, "%.*s/%s", (int)length, next, name);
    if (length != 0 && written > 0 && (size_t)written < sizeof path) {
      execve(path, order->argv, order->environment);
      if (errno != ENOENT && errno != ENOTDIR)
        worst = errno;
    }
    next += length + (next[length] == ':');
  }
  errno = worst;
}

static int become(const struct shim_order *order, int output, struct err *err) {
  if (setsid() < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
      close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    return err_errno(err, ERR_IO, errno, "cannot prepare the kernel's process");
  reset_signals();
  if (jail_enter(&order->jail, err) != 0)
    return err_wrap(err, "jailing the kernel");
  if (chdir(order->working_directory) != 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "the kernel cannot enter its directory %s",
                     order->working_directory);
  unblock_signals();
  run_program(order);
  return err_errno(err, ERR_UNAVAILABLE, errno, "cannot run \"%s\"",
                   order->argv[0]);
}

_Noreturn void kernel_process_run(const struct shim_order *order, int output,
                                  int report) {
  struct err fault = {0};
  become(order, output, &fault);
  kernel_process_report_failure(report, &fault);
  _exit(127);
}

static int wait_report(int descriptor, int64_t deadline, struct err *err) {
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  for (;;) {
    int ready = poll(&polled, 1, clock_poll_timeout(deadline));
    if (ready > 0)
      return 0;
    if (ready == 0)
      return err_set(err, ERR_UNAVAILABLE,
                     "the kernel's program could not be started in time");
    if (errno != EINTR)
      return err_errno(err, ERR_IO, errno, "cannot wait for the kernel");
  }
}

/* Both reports may come in any order: shim and kernel run at the same time. */
int kernel_process_await(int descriptor, int64_t deadline_ns, pid_t *pid,
                         int64_t *start_time, struct err *err) {
  bool failed = false, started = false;
  for (;;) {
    struct report report;
    if (wait_report(descriptor, deadline_ns, err) != 0)
      return -1;
    ssize_t got = read(descriptor, &report, sizeof report);
    if (got < 0 && errno == EINTR)
      continue;
    if (got != (ssize_t)sizeof report)
      break;
    if (!report.failed) {
      *pid = report.pid;
      *start_time = report.start_time;
      started = true;
    } else {
      err_set(err, ERR_UNAVAILABLE, "%s", report.fault.text);
      failed = true;
    }
  }
  if (!failed && !started)
    err_set(err, ERR_UNAVAILABLE, "the kernel's process ended before it ran");
  return failed || !started ? -1 : 0;
}
