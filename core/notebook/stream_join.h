/* Neighbouring outputs of one stream as one output. Pure.
 *
 * The collector joins them while a cell runs; late lines meet what stands there
 * already. Notebook and answers show them joined, the registry keeps each. */
#ifndef CELLPOST_NOTEBOOK_STREAM_JOIN_H
#define CELLPOST_NOTEBOOK_STREAM_JOIN_H

#include "core/json/json.h"

/* Appends an output (takes the reference); text of the stream that stands last
 * goes on there. */
void stream_join_append(struct json *outputs, struct json *output);

/* All outputs joined; the caller's. Nothing of `outputs` is changed. */
struct json *stream_join(const struct json *outputs);

#endif
