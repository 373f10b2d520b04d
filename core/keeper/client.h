/* One that asks over the control socket, and what it gets. */
#ifndef CELLPOST_KEEPER_CLIENT_H
#define CELLPOST_KEEPER_CLIENT_H

#include <stdbool.h>

#include "core/control/control_message.h"
#include "core/keeper/kernels/keeper.h"

struct client {
  struct client *next;
  struct keeper *keeper;
  struct loop_source source;
  bool owner;       /* root or the keeper's own user, not only the app's */
  bool stranger;    /* neither: every request is refused */
  bool waiting;     /* its answer is owed */
  int64_t leave_at; /* monotonic; when it is dropped if it is silent */
};

/* Exactly one of these for each request. A client that cannot take its answer
 * is hung up on: the loop finds that out. */
void client_answer(struct client *client, const struct control_kernel *kernel);
void client_refuse(struct client *client, const struct err *fault);

#endif
