/* The keeper's control socket, seen from the app.
 *
 * SOCK_SEQPACKET, one JSON object a message, one answer a request, verbs from a
 * fixed table. The keeper checks the peer's uid (SO_PEERCRED, unix(7)): root,
 * its own, or the configured user's. All that the keeper needs to know of a
 * task it reads from the registry itself: a request carries only ids. */
#ifndef CELLPOST_CONTROL_CONTROL_H
#define CELLPOST_CONTROL_CONTROL_H

#include "core/base/err.h"
#include "core/control/control_message.h"

/* Each call connects, asks, waits at most timeout_ms for the answer, closes.
 * ERR_UNAVAILABLE: the keeper does not answer, or refuses (max_kernels, bad
 * kernelspec …; the text tells); ERR_NOT_FOUND: no such kernel; ERR_TIMEOUT. */
int control_start(const char *socket_path, const char *task, int timeout_ms,
                  struct control_kernel *ret, struct err *err);
int control_interrupt(const char *socket_path, const char *kernel,
                      struct err *err);
int control_stack(const char *socket_path, const char *kernel, struct err *err);
/* kernel NULL: whichever the task has. end: a name of store/kernel.h. No kernel
 * at all is success. */
int control_stop(const char *socket_path, const char *task, const char *kernel,
                 const char *end, const char *reason, int timeout_ms,
                 struct err *err);
int control_restart(const char *socket_path, const char *task,
                    const char *reason, int timeout_ms,
                    struct control_kernel *ret, struct err *err);
/* Works also for a kernel that has ended. While its end is being found out the
 * answer waits, so alive == false comes with the end. kernel NULL: proves that
 * the keeper answers; *ret is then zero but for pid, which is the keeper's. */
int control_status(const char *socket_path, const char *kernel,
                   struct control_kernel *ret, struct err *err);
int control_shutdown(const char *socket_path, int timeout_ms, struct err *err);

#endif
