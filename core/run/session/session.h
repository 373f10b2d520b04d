/* A kernel for one run: found in the registry, started when there is none,
 * connected, proved, set up. */
#ifndef CELLPOST_RUN_SESSION_SESSION_H
#define CELLPOST_RUN_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jupyter/channel_cache.h"
#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"

struct session {
  struct cached_channel *cached; /* owned; the next two are parts of it */
  struct channel *channel;
  const struct kernel_info *info;
  struct known_kernel *known; /* cached->attachment, once there is one */
  const struct kernel_record *kernel; /* known->kernel */
  int process;                        /* known->process, a pidfd */
  const char *state;     /* kept | fresh | lost, as the run meets the kernel */
  char reason[400];      /* "" when there is none */
  char unreachable[200]; /* why a kernel that was there must be replaced, or ""
                          */
  char *note; /* what went wrong on the way (init_code …), or NULL */
};

/* Has a kernel ready within conf.start_timeout. ERR_UNAVAILABLE tells why there
 * is none; then *stderr_tail is the end of what the kernel itself said
 * (malloc'ed), or NULL. */
int session_open(struct engine *engine, const char *task, struct session *ret,
                 char **stderr_tail, struct err *err);

/* Gives the channel back to the cache (alive), or closes it. */
void session_close(struct engine *engine, struct session *session, bool alive);

bool session_is_python(const struct session *session);

/* Borrowed from the session. */
struct task_notebook_kernel
session_notebook_kernel(const struct session *session);

/* The end of a kernel whose pidfd fired: waits until the keeper has found out,
 * at most `timeout_ms`; 0 and *ret, else -1 (nobody can tell). */
int session_read_end(struct engine *engine, const char *kernel, int timeout_ms,
                     struct kernel_record *ret);

#endif
