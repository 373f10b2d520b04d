/* What the control verbs do. Requests that cannot be answered at once wait:
 * each waiter has a condition that is looked at after every event. */
#ifndef CELLPOST_KEEPER_VERBS_H
#define CELLPOST_KEEPER_VERBS_H

#include "core/keeper/client.h"

/* Answers, refuses, or makes it wait. A request that comes after its deadline
 * is refused: what it asks for may be wrong by now. */
void verbs_handle(struct keeper *keeper, struct client *client,
                  const struct control_request *request);

/* Goes on with every waiter whose condition has come true, refuses those whose
 * time is over; when to be called next. */
int64_t verbs_turn(struct keeper *keeper);

/* The client has gone: its request is owed no answer. */
void verbs_abandon(struct keeper *keeper, const struct client *client);

/* No kernel is started any more, those that run are asked to end. */
void verbs_stop_all(struct keeper *keeper, const char *reason);

#endif
