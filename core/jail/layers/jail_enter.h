/* How a kernel's process enters its jail, from the outside in; each step needs
 * what the next takes away:
 *   control group, resource limits (jail_rlimits.h), namespaces
 *   (jail_namespaces.h), a new root (jail_mounts.h), user and capabilities
 *   (jail_ids.h), no_new_privs, Landlock (jail_landlock.h), system calls
 *   (jail_filter.h). */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_ENTER_H
#define CELLPOST_JAIL_LAYERS_JAIL_ENTER_H

#include "core/base/err.h"
#include "core/jail/jail.h"

/* In the shim, before anything else: who it is in a new user namespace. */
int jail_enter_shim(const struct jail *jail, struct err *err);

/* In the process that becomes the kernel: with stdin, stdout and stderr in
 * place and every other descriptor marked close-on-exec, in its own session,
 * with all signals blocked, still as the keeper's user, before the working
 * directory is entered and before execve(2). Whatever holds from its return on
 * holds for the kernel and for everything that the kernel starts. It uses only
 * what is safe in a forked child of a process with one thread.
 *
 * On failure the kernel must not run: the text says which step failed, and
 * *failed (unless NULL) which layer cannot be had; JAIL_LAYERS: none of them.
 */
int jail_enter(const struct jail *jail, enum jail_layer *failed,
               struct err *err);

#endif
