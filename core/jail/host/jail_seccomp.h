/* The system calls that jailed code cannot make: a deny-list, the one door to
 * libseccomp.
 *
 * Code sees an error, not a signal: EPERM; ENOSYS where programs are known to
 * fall back on something older (clone3, whose flags a filter cannot see;
 * openat2, likewise; io_uring); EAFNOSUPPORT for socket families. Calls of
 * another architecture (32-bit, x32) are ENOSYS. Denied are
 *   new namespaces, mounts, chroot and what else changes the view of the system
 *   other processes' memory and descriptors, ptrace, kcmp
 *   bpf, perf, userfaultfd, io_uring, fanotify, keyrings, quota, accounting
 *   modules, kexec, reboot, swap, clocks, the kernel's log, port I/O
 *   sockets but unix, inet, inet6 and routing netlink; TIOCSTI, TIOCLINUX
 *   device nodes and files that run as their owner (set-user-ID) */
#ifndef CELLPOST_JAIL_HOST_JAIL_SECCOMP_H
#define CELLPOST_JAIL_HOST_JAIL_SECCOMP_H

#include "core/base/err.h"
#include "core/jail/layers/jail_filter.h"

/* Compiles the filter, once in the keeper: this takes milliseconds. The
 * caller's. ERR_UNAVAILABLE. */
int jail_seccomp_build(struct jail_filter **ret, struct err *err);

#endif
