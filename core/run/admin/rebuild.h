/* A task's notebook, written anew from the registry. */
#ifndef CELLPOST_RUN_ADMIN_REBUILD_H
#define CELLPOST_RUN_ADMIN_REBUILD_H

#include "core/base/err.h"
#include "core/run/engine/engine.h"

/* Waits for the task's turn; then every run that had a cell has one again, in
 * the order in which they ran, with headings of sections, and between them the
 * markdown cells that the event log still has. The notebook that is there is
 * set aside: *set_aside is its new name (the caller's), or NULL. Returns the
 * number of cells. ERR_NOT_FOUND: there is no such task. */
int rebuild_notebook(struct engine *engine, const char *task, char **set_aside,
                     struct err *err);

#endif
