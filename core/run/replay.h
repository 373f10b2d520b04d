/* Brings the variables of a task back: runs the cells of its history that went
 * well again, in order, in a new kernel.
 *
 * The notebook and the runs stay as they are; table `replays` records what was
 * done and how the outputs differ. What a cell does to files it does again. */
#ifndef CELLPOST_RUN_REPLAY_H
#define CELLPOST_RUN_REPLAY_H

#include <stdbool.h>

#include "core/json/json.h"
#include "core/run/session/session.h"
#include "core/store/replay.h"

/* session_open, with the replay that is due in a new kernel: one that was asked
 * for, or, after variables were lost, when the task's setting
 * replay_after_death (else the configuration's) is on. The session's state and
 * reason then tell what came of it; a replay that does not succeed is no
 * failure. When the kernel ends within it, the session is one of yet another
 * kernel. */
int replay_open_session(struct engine *engine, const char *task,
                        struct session *ret, char **stderr_tail,
                        struct err *err);

/* {"replay": id, "status", "cells", "same", "different", "failed", "skipped",
 * "differences": [{run, cell, number, what, …}]} */
struct json *replay_describe(const struct replay_record *record);

#endif
