#include "core/keeper/shim/kernel_process.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_enter.h"
#include "core/process/process.h"

struct report {
  bool failed; /* false: the kernel's process is there */
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
  while (send(descriptor, report, sizeof *report, MSG_NOSIGNAL) < 0 &&
         errno == EINTR)
    continue;
}

void kernel_process_report_failure(int report, const struct err *fault) {
  struct report failure;
  memset(&failure, 0, sizeof failure);
  failure.failed = true;
  failure.fault = *fault;
  send_report(report, &failure);
}

/* A keeper that is gone does not answer: then the kernel must not run. */
static int introduce(int report, struct err *err) {
  struct report start;
  char answer;
  memset(&start, 0, sizeof start);
  send_report(report, &start);
  if (recv(report, &answer, 1, 0) != 1)
    return err_set(err, ERR_UNAVAILABLE, "the keeper does not answer");
  return 0;
}

int kernel_process_open_reports(int ret[2], struct err *err) {
  int pair[2];
  const int on = 1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a pair of sockets");
  if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
    int number = errno;
    close(pair[0]);
    close(pair[1]);
    return err_errno(err, ERR_IO, number, "cannot ask for credentials");
  }
  ret[0] = pair[0];
  ret[1] = pair[1];
  return 0;
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

void kernel_process_renew_signals(void) {
  reset_signals();
  unblock_signals();
}

const char *kernel_process_path(char *const *environment) {
  for (; *environment != NULL; environment++)
    if (strncmp(*environment, "PATH=", 5) == 0)
      return *environment + 5;
  return "/usr/bin:/bin";
}

void kernel_process_execute(char *const *argv, char *const *environment) {
  const char *name = argv[0];
  if (strchr(name, '/') != NULL) {
    execve(name, argv, environment);
    return;
  }
  int worst = ENOENT;
  const char *next = *name == '\0' ? "" : kernel_process_path(environment);
  while (*next != '\0') {
    char path[4096];
    size_t length = strcspn(next, ":");
    int written =
        snprintf(path, sizeof path, "%.*s/%s", (int)length, next, name);
    if (length != 0 && written > 0 && (size_t)written < sizeof path) {
      execve(path, argv, environment);
      if (errno != ENOENT && errno != ENOTDIR)
        worst = errno;
    }
    next += length + (next[length] == ':');
  }
  errno = worst;
}

static int become(const struct shim_order *order, int output, int report,
                  struct err *err) {
  if (introduce(report, err) < 0)
    return -1;
  if (setsid() < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
      close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
    return err_errno(err, ERR_IO, errno, "cannot prepare the kernel's process");
  reset_signals();
  if (jail_enter(&order->jail, NULL, err) < 0)
    return err_wrap(err, "jailing the kernel");
  if (chdir(order->working_directory) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "the kernel cannot enter its directory %s",
                     order->working_directory);
  unblock_signals();
  if (order->in_place) {
    kernel_process_close_others(&order->attendance, 1);
    /* A process that has changed its user must not look at itself in /proc
     * (PR_SET_DUMPABLE, prctl(2)), until it runs a program. */
    prctl(PR_SET_DUMPABLE, 1UL);
    return 0;
  }
  kernel_process_execute(order->argv, order->environment);
  return err_errno(err, ERR_UNAVAILABLE, errno, "cannot run \"%s\"",
                   order->argv[0]);
}

void kernel_process_run(const struct shim_order *order, int output,
                        int report) {
  struct err fault = {0};
  if (become(order, output, report, &fault) == 0)
    return;
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

/* One report, and who sent it; 0 at their end, -1 to try again. */
static ssize_t receive_report(int descriptor, struct report *ret,
                              pid_t *sender) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct ucred))];
  } control;
  struct iovec part = {ret, sizeof *ret};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t got = recvmsg(descriptor, &message, MSG_CMSG_CLOEXEC);
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  *sender = 0;
  if (got > 0 && header != NULL && header->cmsg_level == SOL_SOCKET &&
      header->cmsg_type == SCM_CREDENTIALS) {
    struct ucred credentials;
    memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
    *sender = credentials.pid;
  }
  return got;
}

/* It waits for the answer, so that it is there still: its start time can be
 * read. */
static void greet(int descriptor, pid_t sender, pid_t *pid,
                  int64_t *start_time) {
  *pid = sender;
  *start_time = process_start_time(sender);
  send(descriptor, "", 1, MSG_NOSIGNAL);
}

int kernel_process_await(int descriptor, int64_t deadline_ns, pid_t *pid,
                         int64_t *start_time, struct err *err) {
  bool failed = false, started = false;
  for (;;) {
    struct report report;
    pid_t sender;
    if (wait_report(descriptor, deadline_ns, err) < 0)
      return -1;
    ssize_t got = receive_report(descriptor, &report, &sender);
    if (got < 0 && errno == EINTR)
      continue;
    if (got != (ssize_t)sizeof report)
      break;
    if (!report.failed) {
      greet(descriptor, sender, pid, start_time);
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
