/* What travels on the control socket: one JSON object a message.
 *
 *   {"verb": "stop", "task": "demo", "end": "stopped", "reason": "…"}
 *   {"ok": true, "kernel": {…}} | {"ok": false, "kind": "…", "text": "…"}
 *
 * Used by both ends. Pure. A message is at most BUF_CONTROL_MESSAGE bytes. */
#ifndef CELLPOST_CONTROL_CONTROL_MESSAGE_H
#define CELLPOST_CONTROL_CONTROL_MESSAGE_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/id.h"
#include "core/control/control.h"

/* Members that a verb does not have are "". */
struct control_request {
  enum control_verb verb;
  char task[ID_TASK_SIZE];
  char kernel[ID_UUID_SIZE];
  char end[16];
  char reason[256];
};

/* A reason too long is cut. -1 when a member does not fit its room. */
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
