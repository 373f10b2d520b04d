/* The answer of a run, from its record: the same builder serves the run's own
 * request and GET /v1/runs/{run}. README.md, "The interface", tells what is in
 * it. */
#ifndef CELLPOST_RUN_ANSWER_H
#define CELLPOST_RUN_ANSWER_H

#include <stdint.h>

#include "core/json/json.h"
#include "core/run/engine/engine.h"
#include "core/store/run.h"

/* `outputs`: nbformat array with all values in place. `inline_bytes`: images up
 * to this size are given as base64, unless record->options says "link". Pure.
 */
struct json *answer_build(const struct run_record *record,
                          const struct json *outputs, int64_t inline_bytes);

/* Outputs of the registry as an answer shows them: artifacts in place,
 * neighbouring streams joined. */
struct json *answer_outputs(struct engine *engine, const char *task,
                            const struct json *stored);

#endif
