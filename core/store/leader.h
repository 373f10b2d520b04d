/* Processes that led something (a run, a replay) and died meanwhile. */
#ifndef CELLPOST_STORE_LEADER_H
#define CELLPOST_STORE_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"

/* Calls `close` for each instance that the statement lists (id, pid, pid_start)
 * and that is not alive. Returns the sum of what `close` returned; -1 as soon
 * as one is negative, with *err set by it. */
int leader_close_dead(struct store *store, const char *statement,
                      bool (*alive)(int64_t pid, int64_t pid_start),
                      int (*close)(struct store *store, const char *instance,
                                   const void *context, struct err *err),
                      const void *context, struct err *err);

#endif
