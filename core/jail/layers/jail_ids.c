#include "core/jail/layers/jail_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"

#define CAPABILITY_BITS 64
/* root has no privileges of its own, and that cannot be undone. */
#define SECURE_BITS                                                            \
  (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |      \
   SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                     \
   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* The group goes first: without root's uid it could not be changed any more. */
int jail_ids_switch_user(const struct jail *jail, struct err *err) {
  if (!jail->switch_user)
    return 0;
  if (setgroups(0, NULL) < 0)
    return err_errno(err, ERR_IO, errno, "cannot drop the groups");
  if (setresgid(jail->gid, jail->gid, jail->gid) < 0)
    return err_errno(err, ERR_IO, errno, "cannot take the group %u",
                     (unsigned)jail->gid);
  if (setresuid(jail->uid, jail->uid, jail->uid) < 0)
    return err_errno(err, ERR_IO, errno, "cannot take the user %u",
                     (unsigned)jail->uid);
  return 0;
}

/* A number beyond the last capability of this Linux is EINVAL. An unprivileged
 * process that is not in a user namespace of its own cannot drop any: it has
 * none, and no_new_privs keeps it so. */
int jail_ids_drop_bounding(struct err *err) {
  for (unsigned long number = 0; number < CAPABILITY_BITS; number++)
    if (prctl(PR_CAPBSET_DROP, number, 0UL, 0UL, 0UL) < 0) {
      if (errno == EINVAL)
        break;
      if (errno == EPERM && geteuid() != 0)
        return 0;
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot drop the capability %lu", number);
    }
  if (prctl(PR_SET_SECUREBITS, (unsigned long)SECURE_BITS, 0UL, 0UL, 0UL) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot lock capabilities");
  return 0;
}

int jail_ids_drop_capabilities(struct err *err) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {0};
  if (prctl(PR_CAP_AMBIENT, (unsigned long)PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL,
            0UL) < 0 ||
      syscall(SYS_capset, &header, data) < 0 ||
      syscall(SYS_capget, &header, data) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot drop capabilities");
  for (size_t i = 0; i < COUNT_OF(data); i++)
    if ((data[i].effective | data[i].permitted | data[i].inheritable) != 0)
      return err_set(err, ERR_UNAVAILABLE, "capabilities are left");
  return 0;
}

/* A shim signals its kernel, which is another user, and counts its files, also
 * those that only its processes' descriptors lead to. */
void jail_ids_reduce_shim(const struct jail *jail) {
  if (jail->layers == 0)
    return;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {0};
  data[0].effective = data[0].permitted =
      1U << CAP_KILL | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_SYS_PTRACE;
  syscall(SYS_capset, &header, data);
}

static int write_map(pid_t pid, const char *name, unsigned first,
                     unsigned second, struct err *err) {
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int length = snprintf(text, sizeof text, "%u %u 1", first, second);
  CLEANUP(mem_close_descriptor) int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, (size_t)length) != length)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot write %s", path);
  return 0;
}

static int fill_and_open(pid_t pid, struct jail_owner outside,
                         struct jail_owner inside, struct err *err) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
  if (write_map(pid, "uid_map", outside.uid, inside.uid, err) < 0 ||
      write_map(pid, "gid_map", outside.gid, inside.gid, err) < 0)
    return -1;
  int space = open(path, O_RDONLY | O_CLOEXEC);
  if (space < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot open %s", path);
  return space;
}

/* A namespace needs a process to be filled in; this one does nothing else. */
int jail_ids_map_owner(struct jail_owner outside, struct jail_owner inside,
                       struct err *err) {
  struct clone_args arguments = {.flags = CLONE_NEWUSER,
                                 .exit_signal = SIGCHLD};
  pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0)
    for (;;)
      pause();
  if (pid < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot make a user namespace");
  int space = fill_and_open(pid, outside, inside, err);
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  return space;
}

int jail_ids_probe_map(int directory, int owner_map, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int tree = open_tree(directory, "",
                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP,
                                  .userns_fd = (unsigned)owner_map};
  if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes,
                                sizeof attributes) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "the file system of the tasks cannot map owners");
  return 0;
}
