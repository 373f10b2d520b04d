/* One thread, one loop: descriptors and what to do when they are readable
 * (epoll(7)).
 *
 * One event is handled at a time, so a handler may remove and free any source,
 * its own too. */
#ifndef CELLPOST_KEEPER_KERNELS_LOOP_H
#define CELLPOST_KEEPER_KERNELS_LOOP_H

#include "core/base/err.h"

struct loop_source {
  int descriptor; /* the owner's; -1: not watched */
  void (*ready)(void *context);
  void *context;
};

struct loop {
  int epoll;
};

int loop_open(struct loop *ret, struct err *err);
void loop_close(struct loop *loop);

/* Watches source->descriptor. The source must stay where it is until it is
 * removed. */
int loop_add(struct loop *loop, struct loop_source *source, struct err *err);

/* Stops watching, closes the descriptor, leaves -1. Fine when it is -1. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Handles one event, or none within timeout_ms (-1: for ever). */
void loop_turn(struct loop *loop, int timeout_ms);

#endif
