/* The keeper's control socket, seen from the app.
 *
 * SOCK_SEQPACKET, one JSON object a message, one answer a request, verbs from a
 * fixed table. The keeper checks the peer's uid (SO_PEERCRED, unix(7)): root,
 * its own, or the configured user's. All that the keeper needs to know of a
 * task it reads from the registry itself: a request carries only ids. */
#ifndef CELLPOST_CONTROL_CONTROL_H
#define CELLPOST_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/id.h"

enum control_verb {
  CONTROL_START,     /* {task}: the living kernel, or a new one */
  CONTROL_INTERRUPT, /* {kernel}: SIGINT to its process group */
  CONTROL_STACK,     /* {kernel}: SIGUSR2 when the kernel catches it */
  CONTROL_STOP,      /* {task, kernel?, end, reason}: SIGTERM, grace, SIGKILL of
                        all that it started; answers when nothing is left */
  CONTROL_RESTART,   /* {task, reason}: stop, then start */
  CONTROL_STATUS,    /* {} | {kernel}: the keeper's or one kernel's state */
  CONTROL_SHUTDOWN,  /* {}: stop every kernel, answer when nothing is left, end;
                        for root and the keeper's own user only */
};

/* A kernel as the keeper tells it. */
struct control_kernel {
  char id[ID_UUID_SIZE];
  int64_t generation;
  int64_t pid;
  int64_t pid_start;
  char directory[256];
  bool fresh; /* made by this request */
  bool alive;
  /* when it has ended (names as in store/kernel.h) */
  char end[16];
  int64_t exit_code; /* -1 none */
  int64_t signal;    /* 0 none */
  char reason[256];
  char stderr_tail[8192]; /* the end of its log, UTF-8 */
  /* usage, -1 unknown; cumulative for the whole life (the peak of one that
     lives: since its last run began, with control groups of version 1) */
  int64_t cpu_us, memory_bytes, memory_peak_bytes, memory_limit_bytes;
  /* when its jail interrupted it last, since memory got tight or the workspace
     was over its size; wall clock, microseconds, 0: never */
  int64_t memory_tight_at, workspace_over_at;
};

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

/* Both ends: the table of verbs. Unknown: -1. */
int control_verb_parse(const char *name);
const char *control_verb_name(enum control_verb verb);

#endif
