/* The ladder that ends a cell from outside: SIGINT and a nudge, the same again,
 * then SIGTERM and SIGKILL of everything by the keeper. */
#ifndef CELLPOST_RUN_LADDER_H
#define CELLPOST_RUN_LADDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/run/collect/outcome.h"
#include "core/run/session/session.h"

enum ladder_step {
  LADDER_RUNNING,
  LADDER_INTERRUPTED, /* SIGINT (or interrupt_request) and a nudge were sent */
  LADDER_INTERRUPTED_AGAIN,
  LADDER_KILLED, /* the keeper ended the kernel */
};

struct ladder {
  /* given; all borrowed */
  struct engine *engine;
  const struct session *session;
  const char *code; /* of the cell */
  size_t code_length;
  struct outcome *outcome; /* receives verdict, ended_by, died, abandoned, end,
                              running_line */
  int64_t deadline;        /* of the cell, then of the present step; monotonic,
                              0: none */
  enum ladder_step step;
};

/* Begins it (once) with the verdict that it serves. */
void ladder_begin(struct ladder *ladder, enum run_status verdict);

/* The deadline has passed: the first step, or the next one. */
void ladder_next(struct ladder *ladder);

/* Takes the running line from the kernel's last stack dump. */
void ladder_read_line(struct ladder *ladder);

/* exit() was called: sees to it that the kernel ends. */
void ladder_await_exit(struct ladder *ladder);

/* The kernel's process has ended: how. */
void ladder_read_end(struct ladder *ladder);

#endif
