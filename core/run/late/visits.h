/* Work on a task that is no run: on a thread of its own when the task's turn
 * has come, so that no task waits for what is done for another. */
#ifndef CELLPOST_RUN_LATE_VISITS_H
#define CELLPOST_RUN_LATE_VISITS_H

#include "core/run/engine/engine.h"

struct visits;
struct visits *visits_new(struct engine *engine);

/* `subject` (copied, less than 64 bytes) says of whom. Nothing happens when no
 * thread can be had, or when they are being stopped: whoever needs the work
 * done finds out that it was not. */
void visits_add(struct visits *visits, const char *task, const char *subject,
                void (*work)(struct engine *engine, const char *task,
                             const char *subject));

/* Calls off those that wait for their turn, and waits for those at work. */
void visits_stop(struct visits *visits); /* NULL is fine; frees it */

#endif
