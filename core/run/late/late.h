/* Output that comes after its run has ended (threads, callbacks): recorded with
 * the run that it belongs to, told in the next answer, never mixed into another
 * run. The caller has the task's turn. */
#ifndef CELLPOST_RUN_LATE_LATE_H
#define CELLPOST_RUN_LATE_LATE_H

#include "core/base/id.h"
#include "core/jupyter/wire.h"
#include "core/notebook/collector.h"
#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"

/* Late messages of one kernel, gathered until late_flush. */
struct late_batch {
  char run[ID_UUID_SIZE]; /* "" when they belong to no known run */
  struct collector *collector;
};

/* Takes a message that belongs to another run than the present one, or to none.
 * Not an output: ignored. */
void late_take(struct engine *engine, struct known_kernel *known,
               struct late_batch *batch, const struct message *message);

/* Writes what was gathered: notebook cell, outputs table, event log, and the
 * notice for the next answer. */
void late_flush(struct engine *engine, struct known_kernel *known,
                struct late_batch *batch);

#endif
