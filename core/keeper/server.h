/* The control socket: who may connect, what they ask, what they get. */
#ifndef CELLPOST_KEEPER_SERVER_H
#define CELLPOST_KEEPER_SERVER_H

#include <stdbool.h>

#include "core/keeper/keeper.h"

struct client {
  struct client *next;
  struct keeper *keeper;
  struct loop_source source;
  bool owner;       /* root or the keeper's own user, not only the app's */
  bool stranger;    /* neither: every request is refused */
  bool waiting;     /* its answer is owed */
  int64_t leave_at; /* monotonic; when it is shown the door if it is silent */
};

/* Listens on keeper.sock, mode 0660, of the configured user's group. What
 * stands there is left over from a keeper that was killed: places.h has made
 * sure that there is no other. */
int server_open(struct keeper *keeper, struct err *err);
void server_close(struct keeper *keeper);

/* Exactly one of these for each request; either may end the connection (and
 * free the client). */
void server_answer(struct client *client, const struct control_kernel *kernel);
void server_refuse(struct client *client, const struct err *fault);

/* Drops silent clients; when to be called next. */
int64_t server_turn(struct keeper *keeper);

#endif
