/* The trail that a run leaves in the event log: its output messages in batches,
 * so that a flood costs a few rows a second. */
#ifndef CELLPOST_RUN_TRAIL_H
#define CELLPOST_RUN_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json.h"
#include "core/store/event.h"

/* At most this much content a batch; more is counted, not kept: the outputs
 * themselves stand in the notebook. */
#define TRAIL_BATCH_BYTES ((size_t)64 << 10)
#define TRAIL_INTERVAL_NS (INT64_C(60) * 1000 * 1000)

struct run_trail {
  struct json *messages; /* array of {type, content}, or NULL */
  size_t bytes;
  int64_t left_out; /* messages not kept in this batch */
  int64_t flush_at; /* monotonic; 0: nothing waits */
};

/* Neighbouring stream messages of one name are joined. */
void run_trail_add(struct run_trail *trail, const char *type,
                   const struct json *content);

/* The batch as one "run.output" event; false when there is none. The strings
 * are borrowed from the arguments; event->content is the caller's. */
bool run_trail_take(struct run_trail *trail, char *task, char *run,
                    struct event_record *event);
void run_trail_done(struct run_trail *trail);

#endif
