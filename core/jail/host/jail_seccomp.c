#include "core/jail/host/jail_seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define NEW_NAMESPACES                                                         \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |               \
   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)
#define WORD 0xffffffffULL /* ioctl(2) and mode_t look at 32 bits only */

/* By name: the library knows the numbers of every architecture, and leaves out
 * what this one does not have. */
static const char *const denied[] = {
    /* the view of the system */
    "mount", "umount", "umount2", "pivot_root", "chroot", "unshare", "setns",
    "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "sethostname", "setdomainname",
    "open_by_handle_at", "vhangup", "sysfs", "ustat", "_sysctl", "uselib",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
    "process_madvise", "process_mrelease", "move_pages", "migrate_pages",
    /* large and rarely needed parts of the kernel */
    "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "add_key",
    "request_key", "keyctl", "quotactl", "quotactl_fd", "acct", "vmsplice",
    "lookup_dcookie", "nfsservctl", "remap_file_pages", "memfd_secret",
    /* the machine */
    "init_module", "finit_module", "delete_module", "create_module",
    "query_module", "get_kernel_syms", "kexec_load", "kexec_file_load",
    "reboot", "swapon", "swapoff", "settimeofday", "stime", "clock_settime",
    "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "syslog",
    "ioperm", "iopl", "modify_ldt", "vm86", "vm86old"};

static const char *const absent[] = {"clone3", "openat2", "io_uring_setup",
                                     "io_uring_enter", "io_uring_register"};

static struct scmp_arg_cmp compare(unsigned argument, enum scmp_compare how,
                                   scmp_datum_t first, scmp_datum_t second) {
  return (struct scmp_arg_cmp){argument, how, first, second};
}

static int deny(scmp_filter_ctx context, const char *name, int number) {
  int call = seccomp_syscall_resolve_name(name);
  if (call == __NR_SCMP_ERROR || call < 0)
    return 0;
  return seccomp_rule_add(context, SCMP_ACT_ERRNO((unsigned)number), call, 0);
}

static int deny_lists(scmp_filter_ctx context) {
  int result = 0;
  for (size_t i = 0; i < COUNT_OF(denied) && result == 0; i++)
    result = deny(context, denied[i], EPERM);
  for (size_t i = 0; i < COUNT_OF(absent) && result == 0; i++)
    result = deny(context, absent[i], ENOSYS);
  return result;
}

/* Denies a call when all the bits of `bits` are set in one argument. */
static int deny_bits(scmp_filter_ctx context, int call, unsigned argument,
                     scmp_datum_t mask, scmp_datum_t bits) {
  if (call < 0)
    return 0;
  return seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), call, 1,
                          compare(argument, SCMP_CMP_MASKED_EQ, mask, bits));
}

/* Each flag by itself is enough. */
static int deny_namespaces(scmp_filter_ctx context) {
  for (unsigned bit = 0; bit < 32; bit++) {
    scmp_datum_t flag = 1ULL << bit;
    if ((NEW_NAMESPACES & flag) != 0 &&
        deny_bits(context, SCMP_SYS(clone), 0, flag, flag) < 0)
      return -1;
  }
  return 0;
}

static int deny_family(scmp_filter_ctx context, struct scmp_arg_cmp which) {
  const int calls[] = {SCMP_SYS(socket), SCMP_SYS(socketpair)};
  for (size_t i = 0; i < COUNT_OF(calls); i++)
    if (seccomp_rule_add(context, SCMP_ACT_ERRNO(EAFNOSUPPORT), calls[i], 1,
                         which) != 0)
      return -1;
  return 0;
}

/* Routing netlink lists interfaces (getifaddrs(3)); all other kinds are out. */
static int deny_sockets(scmp_filter_ctx context) {
  for (int family = 0; family <= AF_NETLINK; family++)
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
        family != AF_NETLINK &&
        deny_family(context, compare(0, SCMP_CMP_MASKED_EQ, WORD,
                                     (scmp_datum_t)family)) < 0)
      return -1;
  if (deny_family(context, compare(0, SCMP_CMP_GT, AF_NETLINK, 0)) < 0)
    return -1;
  return seccomp_rule_add(
      context, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 2,
      compare(0, SCMP_CMP_EQ, AF_NETLINK, 0), compare(2, SCMP_CMP_NE, 0, 0));
}

/* Keystrokes put into somebody else's terminal. */
static int deny_terminal_input(scmp_filter_ctx context) {
  if (deny_bits(context, SCMP_SYS(ioctl), 1, WORD, TIOCSTI) < 0)
    return -1;
  return deny_bits(context, SCMP_SYS(ioctl), 1, WORD, TIOCLINUX);
}

/* The workspace is seen from outside, too, where such a file would run as its
 * owner. */
static int deny_modes(scmp_filter_ctx context) {
  const struct {
    int call;
    unsigned mode; /* which argument */
  } calls[] = {
      {SCMP_SYS(chmod), 1},
      {SCMP_SYS(fchmod), 1},
      {SCMP_SYS(fchmodat), 2},
      {SCMP_SYS(creat), 1},
      {SCMP_SYS(mknod), 1},
      {SCMP_SYS(mknodat), 2},
      {SCMP_SYS(mkdir), 1},
      {SCMP_SYS(mkdirat), 2},
      {SCMP_SYS(open), 2},
      {SCMP_SYS(openat), 3},
      {seccomp_syscall_resolve_name("fchmodat2"), 2},
  };
  for (size_t i = 0; i < COUNT_OF(calls); i++)
    if (deny_bits(context, calls[i].call, calls[i].mode, S_ISUID, S_ISUID) !=
            0 ||
        deny_bits(context, calls[i].call, calls[i].mode, S_ISGID, S_ISGID) < 0)
      return -1;
  const mode_t devices[] = {S_IFCHR, S_IFBLK};
  for (size_t i = 0; i < COUNT_OF(devices); i++)
    if (deny_bits(context, SCMP_SYS(mknod), 1, S_IFMT, devices[i]) < 0 ||
        deny_bits(context, SCMP_SYS(mknodat), 2, S_IFMT, devices[i]) < 0)
      return -1;
  return 0;
}

/* A limit of 0 would let a program of the host take core dumps
 * (core/process/kernel_limits.c). Asking for it is harmless. */
static int deny_core_dumps(scmp_filter_ctx context) {
  if (seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setrlimit), 1,
                       compare(0, SCMP_CMP_MASKED_EQ, WORD, RLIMIT_CORE)) != 0)
    return -1;
  return seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64),
                          2, compare(1, SCMP_CMP_MASKED_EQ, WORD, RLIMIT_CORE),
                          compare(2, SCMP_CMP_NE, 0, 0));
}

/* Asking for the present personality is harmless. */
static int deny_personality(scmp_filter_ctx context) {
  return seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(personality),
                          1, compare(0, SCMP_CMP_NE, WORD, 0));
}

static int compose(scmp_filter_ctx context) {
  if (seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH,
                       SCMP_ACT_ERRNO(ENOSYS)) != 0)
    return -1;
  /* A search tree instead of a list; older libraries have none. */
  seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  return deny_lists(context) < 0 || deny_namespaces(context) < 0 ||
                 deny_sockets(context) < 0 ||
                 deny_terminal_input(context) < 0 || deny_modes(context) < 0 ||
                 deny_core_dumps(context) < 0 || deny_personality(context) < 0
             ? -1
             : 0;
}

static int export_program(scmp_filter_ctx context, struct buf *program,
                          struct err *err) {
  CLEANUP(mem_close_descriptor) int file = memfd_create("filter", MFD_CLOEXEC);
  if (file < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot make a memory file");
  int result = seccomp_export_bpf(context, file);
  if (result < 0)
    return err_errno(err, ERR_UNAVAILABLE, -result,
                     "cannot compile the system call filter");
  if (lseek(file, 0, SEEK_SET) < 0 || fs_read_all(file, program, err) < 0)
    return -1;
  return 0;
}

int jail_seccomp_build(struct jail_filter **ret, struct err *err) {
  struct jail_filter *filter = mem_new(sizeof *filter);
  filter->program = (struct buf)BUF_INIT(BUF_SMALL);
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  int result = -1;
  if (context == NULL || compose(context) < 0)
    err_set(err, ERR_UNAVAILABLE, "cannot compose the system call filter");
  else
    result = export_program(context, &filter->program, err);
  seccomp_release(context);
  if (result == 0)
    *ret = filter;
  else
    jail_filter_free(filter);
  return result;
}
