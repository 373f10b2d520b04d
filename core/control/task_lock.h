/* The turn of a task between processes: <run directory>/turns/<task>.lock.
 *
 * Whoever wants to use the task's kernel or notebook takes the next number and
 * locks the byte that stands for it (open file description locks, fcntl(2)); it
 * is its turn when no smaller number is locked any more. So the order is that
 * of arrival, nobody polls, and the system frees the number of a process that
 * dies.
 *
 * The file holds the last number, then the ids of the latest runs whose cell
 * was sent to the kernel: after a death they tell a run that may have done
 * something from one that never began. */
#ifndef CELLPOST_CONTROL_TASK_LOCK_H
#define CELLPOST_CONTROL_TASK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct task_lock {
  int file; /* -1: none */
  uint64_t number;
};
#define TASK_LOCK_NONE                                                         \
  (struct task_lock) { .file = -1 }

/* Takes a number. `directory`: an open descriptor of <run directory>/turns. */
int task_lock_join(int directory, const char *task, struct task_lock *ret,
                   struct err *err);

/* Gives the number back, at once. */
void task_lock_leave(struct task_lock *lock);

/* True when no other open file has a smaller number. */
bool task_lock_is_first(const struct task_lock *lock);

/* For whoever is first: false when the file was removed meanwhile. Then the
 * lock is worth nothing, and a new number must be taken. */
bool task_lock_is_valid(int directory, const char *task,
                        const struct task_lock *lock);

/* The same number seen from an open file of its own, which holds nothing: for a
 * thread that blocks in task_lock_await until the number is first. */
int task_lock_reopen(const struct task_lock *lock, struct task_lock *ret,
                     struct err *err);
int task_lock_await(const struct task_lock *reopened, struct err *err);

/* Joins and leaves again unless it is first: 1 and *ret, 0, or -1. */
int task_lock_try(int directory, const char *task, struct task_lock *ret,
                  struct err *err);

/* Notes that the cell of the run is about to be sent. Older notes are dropped
 * now and then, when `recorded` says that all those runs have their end in the
 * registry. */
void task_lock_note_begun(const struct task_lock *lock, const char *run,
                          bool recorded);

/* Whether the run is noted as begun; true, too, when nothing is known of the
 * task (the directory did not survive a start of the host). */
bool task_lock_has_begun(int directory, const char *task, const char *run);

void task_lock_remove(int directory, const char *task);

#endif
