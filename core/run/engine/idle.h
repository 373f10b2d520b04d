/* Kernels that are idle: their channels stay open for the next run, and are
 * watched, so that somebody takes what they send meanwhile and sees their end.
 * Nothing wakes while nothing happens. Any thread. */
#ifndef CELLPOST_RUN_ENGINE_IDLE_H
#define CELLPOST_RUN_ENGINE_IDLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/jupyter/channel_cache.h"

struct idle;
/* At most `limit` channels; beyond that the one that was given back longest ago
 * is closed. */
struct idle *idle_new(size_t limit, struct err *err);
void idle_free(struct idle *idle);

/* The open channel of the task, or NULL; the caller's until it gives it back or
 * frees it. */
struct cached_channel *idle_take(struct idle *idle, const char *task);
/* The same for one kernel. */
struct cached_channel *idle_take_kernel(struct idle *idle, const char *kernel);

/* Gives a channel back, by whoever has the task's turn. `process`: the kernel's
 * pidfd. */
void idle_give(struct idle *idle, struct cached_channel *cached, int process);

/* Waits until an idle kernel has sent something or ended: 1 and its names. 0:
 * the time is over (milliseconds, -1: never), or idle_wake was called. For one
 * thread. */
int idle_wait(struct idle *idle, int timeout_ms,
              struct channel_cache_name *ret);
void idle_wake(struct idle *idle);

#endif
