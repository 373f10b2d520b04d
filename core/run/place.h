/* A task's directory on disk: <state>/tasks/<task>/{files,artifacts}. */
#ifndef CELLPOST_RUN_PLACE_H
#define CELLPOST_RUN_PLACE_H

#include "core/base/err.h"
#include "core/run/engine.h"

/* Opens (and makes, with files/ and artifacts/) the task's directory. Returns
 * the descriptor. Whatever stands in the way is a fault of the place and not of
 * who asks: ERR_NO_SPACE, ERR_UNAVAILABLE or ERR_IO. */
int place_open(struct engine *engine, const char *task, struct err *err);

/* Opens files/ of an open task directory; what stands there instead of a
 * directory (a symlink planted by a cell) is ERR_DENIED. */
int place_open_files(int task_directory, struct err *err);

#endif
