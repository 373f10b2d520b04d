/* The answer of a run (DESIGN.md, "Execute answer"), from its record: the same
 * builder serves the live run and GET /v1/runs/{run}. */
#ifndef CELLPOST_RUN_ANSWER_H
#define CELLPOST_RUN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/json.h"
#include "core/notebook/collector.h"
#include "core/notebook/media.h"
#include "core/store/run.h"

/* `outputs`: nbformat array with all values in place. `inline_bytes`: images up
 * to this size are given as base64, unless record->options says "link". */
struct json *answer_build(const struct run_record *record,
                          const struct json *outputs, int64_t inline_bytes);

/* The record's images: [{mime, uri, width, height, bytes, sha256, output}]. */
struct json *answer_images(const char *task, const struct media *media,
                           size_t count);

/* A copy of the outputs in which every value stored as an artifact is replaced
 * by {"artifact": name}; and the way back (a missing artifact becomes a
 * text/plain sentence that says so). */
struct json *answer_with_references(const struct json *outputs,
                                    const struct media *media, size_t count);
struct json *answer_resolve(int task_directory, const struct json *outputs);

/* The displays with an id among the first `count` outputs of the collector.
 * `ret` has room for as many; returns how many there are. Ids are borrowed. */
size_t answer_displays(const struct collector *collector, size_t count,
                       struct run_display *ret);

/* Text of one stream over all outputs, in order. */
int answer_stream(const struct json *outputs, const char *name,
                  struct buf *out);

#endif
