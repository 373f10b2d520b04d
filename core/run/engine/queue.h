/* The queue of each task: one run at a time, in the order of arrival, in this
 * process and between processes (core/control/task_lock.h). */
#ifndef CELLPOST_RUN_ENGINE_QUEUE_H
#define CELLPOST_RUN_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct queues;
struct queue_entry;

/* `directory` is borrowed: an open descriptor of <run directory>/turns. */
struct queues *queues_new(int directory, int64_t limit);
void queues_free(struct queues *queues);

/* Joins the queue of `task`. ERR_BUSY when `limit` others wait already; ERR_IO
 * and ERR_NO_SPACE (the lock file). */
int queue_join(struct queues *queues, const char *task,
               struct queue_entry **ret, struct err *err);

/* The same for what is no run: it is neither counted nor refused. */
int queue_join_aside(struct queues *queues, const char *task,
                     struct queue_entry **ret, struct err *err);

/* Waits until it is this one's turn. ERR_CONFLICT when it was cancelled. */
int queue_wait(struct queue_entry *entry, struct err *err);

/* Whether it is its turn now; does not wait. */
bool queue_is_next(struct queue_entry *entry);

/* Ends the wait of another thread's entry; too late once its turn has come. */
void queue_cancel(struct queue_entry *entry);

/* How many runs stand before it in this process (0: its turn has come, or it is
 * next). */
int64_t queue_position(struct queue_entry *entry);

/* Leaves the queue, waiting or not, and frees it. NULL is fine. */
void queue_leave(struct queue_entry *entry);

/* task_lock_note_begun, by whoever has the turn. NULL is fine. */
void queue_note_begun(struct queue_entry *entry, const char *run,
                      bool recorded);

/* Removes the lock file; call it while having the turn (the task goes). */
void queue_forget(struct queue_entry *entry);

/* Runs waiting or running for the task in this process. */
int64_t queue_length(struct queues *queues, const char *task);

#endif
