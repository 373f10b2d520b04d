/* Values of outputs that are stored as files, and the way back. */
#ifndef CELLPOST_RUN_COLLECT_ARTIFACTS_H
#define CELLPOST_RUN_COLLECT_ARTIFACTS_H

#include <stddef.h>

#include "core/json/json.h"
#include "core/notebook/media.h"
#include "core/run/engine/engine.h"

/* With sync = background, has these artifacts brought to the disk within a
 * second; else does nothing: they are there already, or need not be. */
void artifacts_sync_later(struct engine *engine, int task_directory,
                          const struct media *media, size_t count);

/* The record's images: [{mime, uri, width, height, bytes, sha256, output}]. */
struct json *artifacts_list_images(const char *task, const struct media *media,
                                   size_t count);

/* A copy of the outputs in which every value stored as an artifact is replaced
 * by {"artifact": name}. */
struct json *artifacts_refer(const struct json *outputs,
                             const struct media *media, size_t count);
/* The way back; a missing artifact becomes a text/plain sentence that says so.
 */
struct json *artifacts_resolve(int task_directory, const struct json *outputs);

#endif
