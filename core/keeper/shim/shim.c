#include "core/keeper/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_enter.h"
#include "core/jail/layers/jail_ids.h"
#include "core/jail/layers/jail_namespaces.h"
#include "core/jail/watch/jail_notice.h"
#include "core/jail/watch/jail_watch.h"
#include "core/keeper/shim/kernel_process.h"
#include "core/process/descendants.h"
#include "core/process/exit_record.h"
#include "core/process/log_ring.h"
#include "core/process/process.h"

#define START_LIMIT_S 10 /* for fork and execve, not for the kernel's start */
#define ABANDON_LIMIT_MS 2000
#define SHIM_NICE (-10)

struct shim {
  pid_t kernel;
  struct jail jail;
  struct jail_watch watch;
  int directory;
  int signals; /* signalfd(2) */
  int output;  /* what the kernel writes; -1 once all writers have gone */
  struct log_ring log;
  int64_t terminate_grace_ms;
  int64_t kill_at; /* 0: no SIGTERM was sent */
  bool ended, told;
  struct exit_record record;
};

static char *title_room;
static size_t title_size;

/* Arguments and environment are in memory one after the other; a title may be
 * as long as both together. */
void shim_take_title_room(char **argv) {
  char *end = argv[0] + strlen(argv[0]) + 1;
  char **const lists[] = {argv + 1, environ};
  for (size_t list = 0; list < COUNT_OF(lists); list++)
    for (char **text = lists[list]; *text != NULL && *text == end; text++)
      end += strlen(*text) + 1;
  shim_give_title_room(argv[0], (size_t)(end - argv[0]));
}

void shim_give_title_room(char *room, size_t size) {
  title_room = room;
  title_size = size;
}

static void set_title(const char *title) {
  prctl(PR_SET_NAME, SHIM_NAME);
  if (title_room == NULL)
    return;
  memset(title_room, 0, title_size);
  snprintf(title_room, title_size, "%s %s", SHIM_NAME, title);
}

static void signal_kernel(const struct shim *shim, int number) {
  /* Before its setsid(2) the kernel has no group of its own. */
  if (kill(-shim->kernel, number) < 0)
    kill(shim->kernel, number);
}

static void terminate(struct shim *shim) {
  signal_kernel(shim, SIGTERM);
  signal_kernel(shim, SIGCONT);
  if (shim->kill_at == 0)
    shim->kill_at = clock_monotonic_ns() + shim->terminate_grace_ms * CLOCK_MS;
}

/* Reaps what has ended; false when there is no child left. */
static bool reap(struct shim *shim) {
  for (;;) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid == 0)
      return true;
    if (pid < 0 && errno == EINTR)
      continue;
    if (pid < 0)
      return false;
    if (pid != shim->kernel)
      continue;
    enum exit_cause cause = shim->record.cause;
    shim->record = exit_record_of(status, &usage);
    shim->record.cause = cause;
    shim->ended = true;
  }
}

static void take_signals(struct shim *shim) {
  struct signalfd_siginfo info;
  while (!shim->ended &&
         read(shim->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      reap(shim);
    else if (info.ssi_signo == SIGTERM)
      terminate(shim);
    else if (info.ssi_signo == SIGINT)
      signal_kernel(shim, SIGINT);
    else if (info.ssi_signo == SIGQUIT)
      signal_kernel(shim, SIGKILL);
    else if (info.ssi_signo == SIGALRM)
      shim->told = true; /* jail_watch.h */
  }
}

/* Copies what is there into the log; true when there may be more. */
static bool copy_output(struct shim *shim) {
  static char bytes[16384];
  ssize_t got = read(shim->output, bytes, sizeof bytes);
  if (got > 0)
    log_ring_write(&shim->log, bytes, (size_t)got);
  else if (got == 0)
    mem_close_descriptor(&shim->output);
  return got > 0;
}

/* Bounded: a child of the kernel may go on writing for ever. */
static void drain_output(struct shim *shim) {
  for (int i = 0; i < 64 && shim->output >= 0; i++)
    if (!copy_output(shim))
      return;
}

/* What goes on against the rules is stopped, and by which rule is kept. */
static void keep_rules(struct shim *shim, bool told) {
  enum jail_verdict verdict = jail_watch_turn(&shim->watch, told);
  if (verdict == JAIL_FINE)
    return;
  if (verdict == JAIL_KILL_NOW)
    shim->record.cause = shim->watch.cause;
  else
    jail_notice_write(shim->directory, shim->watch.cause);
  signal_kernel(shim, verdict == JAIL_KILL_NOW ? SIGKILL : SIGINT);
}

static int poll_timeout(const struct shim *shim) {
  int64_t due = jail_watch_due(&shim->watch);
  if (shim->kill_at != 0 && (due == 0 || shim->kill_at < due))
    due = shim->kill_at;
  return due == 0 ? -1 : clock_poll_timeout(due);
}

static void watch(struct shim *shim) {
  while (!shim->ended) {
    struct pollfd polled[] = {{.fd = shim->signals, .events = POLLIN},
                              {.fd = shim->output, .events = POLLIN},
                              {.fd = shim->watch.memory.descriptor,
                               .events = shim->watch.memory.events}};
    poll(polled, COUNT_OF(polled), poll_timeout(shim));
    if (polled[1].revents != 0)
      copy_output(shim);
    if (polled[0].revents != 0)
      take_signals(shim);
    if (!shim->ended)
      keep_rules(shim, shim->told || polled[2].revents != 0);
    shim->told = false;
    if (!shim->ended && shim->kill_at != 0 &&
        clock_monotonic_ns() >= shim->kill_at) {
      signal_kernel(shim, SIGKILL);
      shim->kill_at = clock_monotonic_ns() + CLOCK_S;
    }
  }
}

/* kill(-1) from the first process of a pid namespace reaches all others in it
 * and no process outside. Without a namespace they are found in /proc. */
static void kill_others(const struct shim *shim) {
  if (jail_has(&shim->jail, JAIL_PID))
    kill(-1, SIGKILL);
  else
    descendants_kill(getpid(), NULL, 0);
}

/* Until waitpid says that there is no child, thus no descendant. */
static void kill_descendants(struct shim *shim) {
  int wait_ms = 1;
  while (reap(shim)) {
    kill_others(shim);
    drain_output(shim);
    struct pollfd polled = {.fd = shim->signals, .events = POLLIN};
    struct signalfd_siginfo info;
    poll(&polled, 1, wait_ms);
    while (read(shim->signals, &info, sizeof info) > 0)
      continue;
    wait_ms = wait_ms < 200 ? wait_ms * 2 : 200;
  }
}

static _Noreturn void be_shim(struct shim *shim) {
  watch(shim);
  drain_output(shim);
  jail_watch_conclude(&shim->watch, &shim->record);
  exit_record_write(shim->directory, &shim->record, NULL);
  kill_descendants(shim);
  drain_output(shim);
  _exit(0);
}

static void close_others(const struct shim_order *order, int report) {
  int kept[JAIL_DESCRIPTORS + 3] = {order->directory, report,
                                    order->attendance};
  size_t count = 3 + jail_descriptors(&order->jail, kept + 3);
  kernel_process_close_others(kept, count);
}

/* Makes the descriptors a shim lives with; others than those and the jail's are
 * closed. */
static int settle(const struct shim_order *order, int report,
                  struct shim *ret_shim, int *ret_input, struct err *err) {
  struct shim shim = {.jail = order->jail,
                      .directory = order->directory,
                      .terminate_grace_ms = order->terminate_grace_ms};
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  if (jail_enter_shim(&order->jail, err) < 0)
    return -1;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
      dup2(null, 2) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1UL) < 0)
    return err_errno(err, ERR_IO, errno, "cannot prepare a process");
  close_others(order, report);
  if (fchdir(order->directory) < 0)
    return err_errno(err, ERR_IO, errno, "cannot enter the kernel's directory");
  if (log_ring_open(order->directory, &shim.log, err) < 0)
    return -1;
  int output[2];
  shim.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (shim.signals < 0 || pipe2(output, O_CLOEXEC) < 0 ||
      fcntl(output[0], F_SETFL, O_NONBLOCK) < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a pipe");
  shim.output = output[0];
  *ret_input = output[1];
  *ret_shim = shim;
  return 0;
}

static _Noreturn void give_up(int report, const struct err *err) {
  kernel_process_report_failure(report, err);
  _exit(127);
}

/* What only the kernel needed, and what only the start. */
static void reduce(struct shim *shim, const char *title) {
  int closed[JAIL_DESCRIPTORS];
  size_t count = jail_descriptors(&shim->jail, closed);
  jail_watch_open(&shim->watch, &shim->jail, shim->kernel);
  for (size_t i = 0; i < count; i++)
    close(closed[i]);
  /* However many processes a kernel starts: root's shim comes first. */
  setpriority(PRIO_PROCESS, 0, SHIM_NICE);
  jail_ids_reduce_shim(&shim->jail);
  set_title(title);
}

/* What goes on in a program of many libraries needs all that fork(3) does for
 * them, which jail_namespaces_fork_kernel may leave out. */
static pid_t fork_kernel(struct shim_order *order) {
  if (!order->in_place)
    return jail_namespaces_fork_kernel(&order->jail);
  return fork();
}

void shim_be(const struct shim_order *order, int report) {
  struct shim shim = {0};
  int input = -1;
  struct err err = {0};
  if (settle(order, report, &shim, &input, &err) < 0)
    give_up(report, &err);
  struct shim_order own = *order;
  shim.kernel = fork_kernel(&own);
  if (shim.kernel == 0) {
    kernel_process_run(&own, input, report);
    return;
  }
  if (shim.kernel < 0) {
    err_errno(&err, ERR_UNAVAILABLE, errno, "cannot fork");
    give_up(report, &err);
  }
  close(input);
  close(report);
  if (order->attendance > 0)
    close(order->attendance);
  reduce(&shim, order->title);
  be_shim(&shim);
}

/* Ends a shim whose kernel never came to run: mostly it is ending already, else
 * SIGQUIT makes it, and SIGKILL is for one that hangs. */
static void abandon(const struct shim_process *process) {
  struct pollfd polled = {.fd = process_open(process->pid, process->pid_start),
                          .events = POLLIN};
  kill(process->pid, SIGQUIT);
  if (polled.fd < 0 || poll(&polled, 1, ABANDON_LIMIT_MS) <= 0)
    kill(process->pid, SIGKILL);
  mem_close_descriptor(&polled.fd);
  while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
    continue;
}

int shim_await(pid_t shim, int report, struct shim_process *ret,
               struct err *err) {
  struct shim_process process = {.pid = shim,
                                 .pid_start = process_start_time(shim)};
  int64_t deadline = clock_monotonic_ns() + START_LIMIT_S * CLOCK_S;
  if (kernel_process_await(report, deadline, &process.kernel_pid,
                           &process.kernel_start, err) < 0) {
    abandon(&process);
    return -1;
  }
  *ret = process;
  return 0;
}

int shim_start(const struct shim_order *order, struct shim_process *ret,
               struct err *err) {
  int report[2];
  if (kernel_process_open_reports(report, err) < 0)
    return -1;
  pid_t shim = jail_namespaces_fork(&order->jail);
  if (shim == 0) {
    shim_be(order, report[1]);
    _exit(127);
  }
  int number = errno;
  close(report[1]);
  CLEANUP(mem_close_descriptor) int answer = report[0];
  if (shim < 0)
    return err_errno(err, ERR_UNAVAILABLE, number, "cannot fork");
  return shim_await(shim, answer, ret, err);
}
