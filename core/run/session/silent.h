/* Runs code in a kernel without a trace: no history, no outputs, no cell. For
 * the set-up of a kernel and for probes after an error. */
#ifndef CELLPOST_RUN_SESSION_SILENT_H
#define CELLPOST_RUN_SESSION_SILENT_H

#include <stdint.h>

#include "core/jupyter/client.h"

/* Runs to the end; *ret is the finished execution (execution_free). Messages of
 * other parents go to `other` (may be NULL). ERR_TIMEOUT, ERR_UNAVAILABLE (the
 * kernel ended). */
struct silent_other {
  void *context;
  void (*message)(void *context, const struct message *message);
};
int silent_execute(struct channel *channel, int process, const char *code,
                   const struct json *user_expressions, int64_t deadline_ns,
                   const struct silent_other *other, struct execution *ret,
                   struct err *err);

#endif
