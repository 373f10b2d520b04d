/* Brings the variables of a task back: runs the cells of its history that went
 * well again, in order, in a new kernel.
 *
 * The notebook and the runs stay as they are; table `replays` records what was
 * done and how the outputs differ. What a cell does to files it does again. */
#ifndef CELLPOST_RUN_REPLAY_H
#define CELLPOST_RUN_REPLAY_H

#include <stdbool.h>

#include "core/json/json.h"
#include "core/run/lease.h"
#include "core/store/replay.h"

/* Replays in the leased kernel when it is a new one and a replay was asked for,
 * or variables were lost and the task's setting replay_after_death (else the
 * configuration's) is on. The lease's state and reason then tell what came of
 * it. *died: the kernel ended within; the lease must be given back as dead. A
 * replay that does not succeed is no failure: its row tells. */
void replay_when_due(struct engine *engine, struct lease *lease, bool *died);

/* {"replay": id, "status", "cells", "same", "different", "failed", "skipped",
 * "differences": [{run, cell, number, what, …}]} */
struct json *replay_describe(const struct replay_record *record);

#endif
