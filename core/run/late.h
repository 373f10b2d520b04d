/* Output that comes after its run has ended (threads, callbacks): recorded with
 * the run that it belongs to, told in the next answer, never mixed into another
 * run. */
#ifndef CELLPOST_RUN_LATE_H
#define CELLPOST_RUN_LATE_H

#include "core/notebook/collector.h"
#include "core/run/lease.h"

/* Late messages of one kernel, gathered until late_flush. */
struct late_batch {
  char run[37]; /* "" when they belong to no known run */
  struct collector *collector;
};

/* Takes a message that belongs to another run than the present one, or to none.
 * Not an output: ignored. The caller has the task's turn. */
void late_take(struct engine *engine, const char *task,
               struct lease_memory *memory, struct late_batch *batch,
               const struct message *message);

/* Writes what was gathered: notebook cell, outputs table, event log, and the
 * notice for the next answer. */
void late_flush(struct engine *engine, const char *task,
                struct lease_memory *memory, struct late_batch *batch);

/* update_display_data for outputs of earlier cells. */
void late_update(struct engine *engine, const char *task,
                 struct lease_memory *memory,
                 const struct collector_update *update);

/* The notebook of the task, opened when needed. NULL on failure (*err). */
struct notebook *late_notebook(struct engine *engine, const char *task,
                               struct lease_memory *memory, struct err *err);

/* Thread: drains idle channels until engine->janitor_stop is readable.
 * `argument` is the engine. */
void *late_janitor(void *argument);

#endif
