/* The control socket: who may connect, and what they ask. */
#ifndef CELLPOST_KEEPER_SERVER_H
#define CELLPOST_KEEPER_SERVER_H

#include "core/keeper/kernels/keeper.h"

/* Listens on keeper.sock, mode 0660, of the configured user's group. What
 * is there already is left over from a keeper that was killed: places.h has
 * made sure that no other one runs. */
int server_open(struct keeper *keeper, struct err *err);
void server_close(struct keeper *keeper);

/* Drops silent clients; when to be called next. */
int64_t server_turn(struct keeper *keeper);

#endif
