/* What travels on the control socket: one JSON object a message.
 *
 *   {"verb": "stop", "task": "demo", "end": "stopped", "reason": "…"}
 *   {"ok": true, "kernel": {…}} | {"ok": false, "kind": "…", "text": "…"}
 *
 * Used by both ends. Pure. A message is at most BUF_CONTROL_MESSAGE bytes. */
#ifndef CELLPOST_CONTROL_CONTROL_MESSAGE_H
#define CELLPOST_CONTROL_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
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

int control_verb_parse(const char *name); /* unknown: -1 */

/* Members that a verb does not have are "". */
struct control_request {
  enum control_verb verb;
  int64_t deadline; /* when nobody waits for the answer any more (monotonic,
                       nanoseconds; every verb may have it); 0: none. An order
                       that is read later is refused: what it was about may have
                       changed since. */
  char task[ID_TASK_SIZE];
  char kernel[ID_UUID_SIZE];
  char end[16];
  char reason[256];
};

/* -1: a member does not fit. A reason that is too long is cut. */
int control_request_encode(const struct control_request *request,
                           struct buf *out);

/* ERR_INVALID names the fault: no JSON object, an unknown verb or member, a
 * member that the verb needs is missing, an id that is none. */
int control_request_decode(const char *text, size_t length,
                           struct control_request *ret, struct err *err);

int control_answer_encode(const struct control_kernel *kernel, struct buf *out);
int control_answer_encode_error(const struct err *fault, struct buf *out);

/* Fills in *ret from an answer, or *err with the fault that it carries (and
 * returns -1). ERR_PROTOCOL: it is no answer. ret may be NULL. */
int control_answer_decode(const char *text, size_t length,
                          struct control_kernel *ret, struct err *err);

#endif
