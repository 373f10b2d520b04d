#include "core/jail/layers/jail_namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/mem.h"

#define HOST_NAME "cellpost"

static pid_t clone_process(struct clone_args *arguments) {
  if ((arguments->flags & CLONE_PARENT) == 0)
    arguments->exit_signal = SIGCHLD;
  return (pid_t)syscall(SYS_clone3, arguments, sizeof *arguments);
}

static uint64_t shim_flags(const struct jail *jail) {
  return (jail_has(jail, JAIL_PID) ? CLONE_NEWPID : 0U) |
         (jail_has(jail, JAIL_USER) ? CLONE_NEWUSER : 0U);
}

pid_t jail_namespaces_fork(const struct jail *jail) {
  struct clone_args arguments = {.flags = shim_flags(jail)};
  return arguments.flags == 0 ? fork() : clone_process(&arguments);
}

/* It signals its end as the caller does (clone(2)). */
pid_t jail_namespaces_fork_sibling(const struct jail *jail) {
  struct clone_args arguments = {.flags = CLONE_PARENT | shim_flags(jail)};
  return clone_process(&arguments);
}

pid_t jail_namespaces_fork_kernel(struct jail *jail) {
  struct clone_args arguments = {.flags = CLONE_INTO_CGROUP,
                                 .cgroup = (unsigned)jail->group_directory};
  if (jail->group_directory == 0)
    return fork();
  int count = jail->entry_count;
  jail->entry_count = 0;
  pid_t pid = clone_process(&arguments);
  if (pid >= 0)
    return pid;
  jail->entry_count = count;
  return fork();
}

static int write_file(const char *path, const char *text, struct err *err) {
  CLEANUP(mem_close_descriptor) int file = open(path, O_WRONLY | O_CLOEXEC);
  size_t length = strlen(text);
  if (file < 0 || write(file, text, length) != (ssize_t)length)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot write %s", path);
  return 0;
}

/* setgroups(2) must be given up before an unprivileged process may map groups
 * (user_namespaces(7)). */
int jail_namespaces_map_user(uid_t uid, gid_t gid, struct err *err) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1", (unsigned)uid, (unsigned)uid);
  snprintf(groups, sizeof groups, "%u %u 1", (unsigned)gid, (unsigned)gid);
  if (write_file("/proc/self/setgroups", "deny", err) < 0 ||
      write_file("/proc/self/uid_map", users, err) < 0 ||
      write_file("/proc/self/gid_map", groups, err) < 0)
    return -1;
  return 0;
}

static int raise_loopback(struct err *err) {
  CLEANUP(mem_close_descriptor)
  int channel = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo"};
  if (channel < 0 || ioctl(channel, SIOCGIFFLAGS, &request) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot find the loopback");
  request.ifr_flags |= IFF_UP;
  if (ioctl(channel, SIOCSIFFLAGS, &request) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot bring the loopback up");
  return 0;
}

static int set_host_name(struct err *err) {
  if (sethostname(HOST_NAME, strlen(HOST_NAME)) < 0 || setdomainname("", 0) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot set the host name");
  return 0;
}

int jail_namespaces_unshare(const struct jail *jail, enum jail_layer *failed,
                            struct err *err) {
  static const struct {
    enum jail_layer layer;
    int flag;
    int (*prepare)(struct err *err);
  } steps[] = {
      {JAIL_MOUNT, CLONE_NEWNS, NULL},
      {JAIL_IPC, CLONE_NEWIPC, NULL},
      {JAIL_UTS, CLONE_NEWUTS, set_host_name},
      {JAIL_NETWORK, CLONE_NEWNET, raise_loopback},
      {JAIL_CGROUP, CLONE_NEWCGROUP, NULL},
  };
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    if (!jail_has(jail, steps[i].layer))
      continue;
    *failed = steps[i].layer;
    if (unshare(steps[i].flag) < 0)
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot make a new %s namespace",
                       jail_layer_name(steps[i].layer));
    if (steps[i].prepare != NULL && steps[i].prepare(err) < 0)
      return -1;
  }
  return 0;
}
