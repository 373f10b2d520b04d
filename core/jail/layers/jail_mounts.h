/* The new root of a kernel.
 *
 *   /usr, /bin, /lib …, a short list of /etc     read-only, as outside
 *   what jail->read_only names                   read-only, as outside
 *   /etc/passwd, group, hosts …                  made here: no other users, no
 *                                                resolver
 *   /proc       own pid namespace, others' processes hidden, read-only
 *   /dev        null, zero, full, random, urandom, tty, terminals of its own
 *   /tmp, /dev/shm   in memory (which counts as the kernel's), limited
 *   JAIL_WORKSPACE   the task's files
 *   JAIL_PRIVATE     in memory, small: caches and settings
 *   jail->run        the kernel's sockets; connection.json in it is a copy
 *
 * Nothing else exists. All by detached mounts (open_tree(2), fsmount(2),
 * mount_setattr(2), Linux 5.12), so that nothing is ever there with the wrong
 * attributes. */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_MOUNTS_H
#define CELLPOST_JAIL_LAYERS_JAIL_MOUNTS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/jail/jail.h"

/* In a mount namespace of its own. The working directory is "/" afterwards. */
int jail_mounts_enter(const struct jail *jail, struct err *err);

/* The files of jail->run that the kernel may write: NULL-terminated. What
 * LAYOUT_CONNECTION says is believed outside, so that the kernel gets a copy,
 * which covers it: it can change that one only. */
extern const char *const jail_mounts_written[];

/* Makes jail->run read-only for the kernel that `process` (a pidfd) is, but for
 * those files: once its sockets are there it has nothing more to make. Outside
 * nothing changes. */
int jail_mounts_close_run(int process, const char *run, bool user_namespace,
                          struct err *err);

/* Read-only paths of a new root that Landlock also must know: NULL-terminated.
 * Those that do not exist are left out of both. */
extern const char *const jail_mounts_programs[]; /* code and data */
extern const char *const jail_mounts_settings[]; /* of /etc and the like */

#endif
