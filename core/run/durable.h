/* What a run leaves on disk, made durable as the configuration's `sync` says.
 */
#ifndef CELLPOST_RUN_DURABLE_H
#define CELLPOST_RUN_DURABLE_H

#include <stddef.h>

#include "core/notebook/media.h"
#include "core/run/engine.h"

/* With sync = background, has these artifacts brought to the disk within a
 * second; else does nothing: they are there already, or need not be. */
void durable_artifacts(struct engine *engine, int task_directory,
                       const struct media *media, size_t count);

#endif
