/* A task's directory on disk: <state>/tasks/<task>/{files,artifacts}. */
#ifndef CELLPOST_RUN_ENGINE_TASK_DIRECTORY_H
#define CELLPOST_RUN_ENGINE_TASK_DIRECTORY_H

#include "core/base/err.h"
#include "core/run/engine/engine.h"

/* Opens (and makes, with files/ and artifacts/) the task's directory. Returns
 * the descriptor. Whatever stands in the way is a fault of the place and not of
 * who asks: ERR_NO_SPACE, ERR_UNAVAILABLE or ERR_IO. */
int task_directory_open(struct engine *engine, const char *task,
                        struct err *err);

/* Opens files/ of an open task directory; what stands there instead of a
 * directory (a symlink planted by a cell) is ERR_DENIED. */
int task_directory_open_files(int task_directory, struct err *err);

#endif
