/* Turns: one run at a time per task, in the order of arrival.
 *
 * Inside the process a FIFO; between processes a lock file that the kernel
 * frees when its holder dies (flock(2)), <run_directory>/turns/<task>.lock. */
#ifndef CELLPOST_RUN_TURN_H
#define CELLPOST_RUN_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct turns;
struct turn;

/* `directory` is borrowed: an open descriptor of <run_directory>/turns. */
struct turns *turns_new(int directory, int64_t limit);
void turns_free(struct turns *turns);

/* Joins the queue of `task`. ERR_BUSY when `limit` others wait already. */
int turn_join(struct turns *turns, const char *task, struct turn **ret,
              struct err *err);

/* Waits until it is this one's turn. ERR_CONFLICT when it was cancelled. */
int turn_wait(struct turn *turn, struct err *err);

/* Ends the wait of another thread's turn; too late once it has begun. */
void turn_cancel(struct turn *turn);

/* How many stand before it (0: it is its turn, or next). */
int64_t turn_position(struct turn *turn);

/* Leaves the queue, waiting or not, and frees it. NULL is fine. */
void turn_leave(struct turn *turn);

/* The turn now, if nobody in this process has or wants it; NULL otherwise. The
 * lock between processes is not taken: turn_lock does that without waiting
 * (false: another process has it). For the janitor. */
struct turn *turn_try(struct turns *turns, const char *task);
bool turn_lock(struct turn *turn);

/* Removes the lock file; call it while having the turn (the task goes). */
void turn_forget(struct turn *turn);

/* Runs waiting or running for the task in this process. */
int64_t turns_length(struct turns *turns, const char *task);

#endif
