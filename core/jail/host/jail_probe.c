#include "core/jail/host/jail_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_enter.h"
#include "core/jail/layers/jail_namespaces.h"

struct outcome {
  enum jail_layer failed;
  struct err err;
};

static _Noreturn void try(const struct jail *jail, int report) {
  struct outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  outcome.failed = JAIL_USER;
  if (jail_enter_shim(jail, &outcome.err) < 0 ||
      jail_enter(jail, &outcome.failed, &outcome.err) < 0)
    (void)!write(report, &outcome, sizeof outcome);
  _exit(0);
}

/* One write(2) below PIPE_BUF is read whole (pipe(7)). */
static int take_outcome(int report, enum jail_layer *failed, struct err *err) {
  struct outcome outcome;
  ssize_t got;
  do
    got = read(report, &outcome, sizeof outcome);
  while (got < 0 && errno == EINTR);
  if (got == 0)
    return 0;
  if (got != (ssize_t)sizeof outcome)
    return err_set(err, ERR_IO, "a trial of the jail has failed");
  *failed = outcome.failed;
  return err_set(err, outcome.err.kind, "%s", outcome.err.text);
}

int jail_probe(const struct jail *jail, enum jail_layer *failed,
               struct err *err) {
  int report[2];
  *failed = JAIL_LAYERS;
  if (pipe2(report, O_CLOEXEC) < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a pipe");
  pid_t pid = jail_namespaces_fork(jail);
  if (pid == 0)
    try(jail, report[1]);
  int number = errno;
  close(report[1]);
  CLEANUP(mem_close_descriptor) int answer = report[0];
  if (pid < 0) {
    *failed = jail_has(jail, JAIL_USER)  ? JAIL_USER
              : jail_has(jail, JAIL_PID) ? JAIL_PID
                                         : JAIL_LAYERS;
    return err_errno(err, ERR_UNAVAILABLE, number,
                     "cannot make a process in new namespaces");
  }
  int result = take_outcome(answer, failed, err);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  return result;
}

static void switch_off(struct jail *jail, struct jail_status *status,
                       enum jail_layer layer, const char *note) {
  if (!jail_has(jail, layer))
    return;
  jail->layers &= ~JAIL_BIT(layer);
  status[layer].state = JAIL_OFF;
  snprintf(status[layer].note, sizeof status[layer].note, "%.255s", note);
}

/* Debian and Arch have the first, Red Hat sets the second, Ubuntu has the
 * third. */
static const struct {
  const char *file, *name;
  long forbids;
  const char *instead;
} switches[] = {
    {"kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0,
     "1"},
    {"user/max_user_namespaces", "user.max_user_namespaces", 0, "10000"},
    {"kernel/apparmor_restrict_unprivileged_userns",
     "kernel.apparmor_restrict_unprivileged_userns", 1, "0"},
};

static bool is_set(int settings, const char *file, long value) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  char *end = NULL;
  if (fs_read_file(settings, file, &text, NULL) < 0)
    return false;
  long found = strtol(buf_string(&text), &end, 10);
  return end != buf_string(&text) && found == value;
}

void jail_probe_advice(const char *settings, char *ret, size_t size) {
  CLEANUP(mem_close_descriptor)
  int directory = open(settings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t i = 0; directory >= 0 && i < COUNT_OF(switches); i++)
    if (is_set(directory, switches[i].file, switches[i].forbids)) {
      snprintf(ret, size, "%s is %ld: set it to %s, or run the keeper as root",
               switches[i].name, switches[i].forbids, switches[i].instead);
      return;
    }
  snprintf(ret, size,
           "this host or container forbids them: run the keeper as root");
}

/* Only a keeper that is not root needs that layer. */
static void tell_user(struct jail_status *status, const char *fault) {
  char advice[160];
  jail_probe_advice("/proc/sys", advice, sizeof advice);
  snprintf(status[JAIL_USER].note, sizeof status[JAIL_USER].note,
           "%.90s; %.160s", fault, advice);
}

/* What cannot be had without the one that failed. */
static void switch_off_dependents(struct jail *jail, struct jail_status *status,
                                  enum jail_layer layer) {
  static const enum jail_layer by_user[] = {
      JAIL_MOUNT, JAIL_PID, JAIL_IPC, JAIL_UTS, JAIL_NETWORK, JAIL_CGROUP};
  if (layer == JAIL_USER)
    for (size_t i = 0; i < COUNT_OF(by_user); i++)
      switch_off(jail, status, by_user[i],
                 "needs the keeper to be root, or user namespaces");
  if (layer == JAIL_USER || layer == JAIL_MOUNT)
    switch_off(jail, status, JAIL_IDS, "needs a root of its own (mount)");
}

static const char *without_name(const char *text, enum jail_layer layer) {
  const char *name = jail_layer_name(layer);
  size_t length = strlen(name);
  return strncmp(text, name, length) == 0 &&
                 strncmp(text + length, ": ", 2) == 0
             ? text + length + 2
             : text;
}

int jail_probe_all(struct jail *jail, struct jail_status status[JAIL_LAYERS],
                   struct err *err) {
  for (;;) {
    enum jail_layer failed;
    struct err fault = {0};
    if (jail_probe(jail, &failed, &fault) == 0)
      return 0;
    if (failed == JAIL_LAYERS || !jail_has(jail, failed))
      return err_set(err, ERR_UNAVAILABLE, "%s", fault.text);
    const char *why = without_name(fault.text, failed);
    switch_off(jail, status, failed, why);
    if (failed == JAIL_USER)
      tell_user(status, why);
    switch_off_dependents(jail, status, failed);
    if (failed == JAIL_IDS)
      jail->workspace_owner = 0;
  }
}
