/* The queue of each task: one run at a time, in the order of arrival.
 *
 * Inside the process a FIFO; between processes a lock file that the kernel
 * frees when its holder dies (flock(2)), <run_directory>/turns/<task>.lock. */
#ifndef CELLPOST_RUN_ENGINE_QUEUE_H
#define CELLPOST_RUN_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct queues;
struct queue_entry;

/* `directory` is borrowed: an open descriptor of <run_directory>/turns. */
struct queues *queues_new(int directory, int64_t limit);
void queues_free(struct queues *queues);

/* Joins the queue of `task`. ERR_BUSY when `limit` others wait already. */
int queue_join(struct queues *queues, const char *task,
               struct queue_entry **ret, struct err *err);

/* Waits until it is this one's turn. ERR_CONFLICT when it was cancelled. */
int queue_wait(struct queue_entry *entry, struct err *err);

/* Ends the wait of another thread's entry; too late once its turn has come. */
void queue_cancel(struct queue_entry *entry);

/* How many stand before it (0: its turn has come, or it is next). */
int64_t queue_position(struct queue_entry *entry);

/* Leaves the queue, waiting or not, and frees it. NULL is fine. */
void queue_leave(struct queue_entry *entry);

/* The turn now, if nobody in this process has or wants it; NULL otherwise. The
 * lock between processes is not taken: queue_lock does that without waiting
 * (false: another process has it). For who must not
 * make runs wait. */
struct queue_entry *queue_try(struct queues *queues, const char *task);
bool queue_lock(struct queue_entry *entry);

/* Removes the lock file; call it while having the turn (the task goes). */
void queue_forget(struct queue_entry *entry);

/* Runs waiting or running for the task in this process. */
int64_t queue_length(struct queues *queues, const char *task);

#endif
