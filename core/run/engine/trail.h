/* The trail that a run leaves in the event log: its output messages in batches,
 * so that a flood costs a few rows a second.
 *
 * Messages are counted from the run's first. A batch tells how many there were
 * up to its end; so somebody who knows the outputs of the first n messages
 * knows which batches tell nothing new, provided that none goes across that
 * border: trail_cut sees to it.
 *
 * Not for two threads at once; live.h guards it. */
#ifndef CELLPOST_RUN_ENGINE_TRAIL_H
#define CELLPOST_RUN_ENGINE_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/store/event.h"

/* At most this much content a batch; more is counted, not kept: the outputs
 * themselves stand in the notebook. */
#define TRAIL_BATCH_BYTES ((size_t)64 << 10)
#define TRAIL_HELD_BYTES ((size_t)4 << 20)
/* From one batch to the next. */
#define TRAIL_INTERVAL_NS (INT64_C(50) * 1000 * 1000)
/* What comes after a silence waits for so long for more to come. */
#define TRAIL_GATHER_NS (INT64_C(2) * 1000 * 1000)

struct trail {
  struct json *messages; /* the open batch: {type, content} each; or NULL */
  size_t bytes;
  int64_t left_out;    /* messages not kept in it */
  struct json *closed; /* array of the contents of closed batches, or NULL */
  int64_t end;         /* messages so far */
  int64_t taken;       /* of them, handed out for the log */
  int64_t recorded;    /* of them, in the log */
  int64_t taken_at;    /* monotonic; when the run began, at first */
  int64_t flush_at;    /* monotonic; 0: nothing waits */
};

/* `now`: when the run begins. A run that ends within TRAIL_INTERVAL_NS writes
 * its batch with its end. */
void trail_begin(struct trail *trail, int64_t now);

/* Neighbouring stream messages of one name are joined. */
void trail_add(struct trail *trail, const char *type,
               const struct json *content, int64_t now);

/* Later messages get a batch of their own. */
void trail_cut(struct trail *trail);

/* What waits, as "run.output" events; returns how many. The texts are borrowed
 * from the arguments; trail_events_free frees the rest. */
size_t trail_take(struct trail *trail, char *task, char *run, int64_t now,
                  struct event_record **events);
void trail_events_free(struct event_record *events, size_t count);

/* They could not be written: they come again with the next, which is due at
 * `flush_at`. While the log cannot be had, TRAIL_HELD_BYTES are kept at most;
 * what goes beyond is counted as left out. */
void trail_put_back(struct trail *trail, const struct event_record *events,
                    size_t count, int64_t flush_at);

/* All that was taken is in the log now. */
void trail_note_recorded(struct trail *trail);

void trail_done(struct trail *trail);

#endif
