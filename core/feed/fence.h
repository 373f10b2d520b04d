/* What a watcher knows already. Pure.
 *
 * Who begins to watch is told a running run's outputs so far. Some of them are
 * not in the event log yet, or came into it after the position from which the
 * watcher is given events: those batches would tell them again. A fence hides
 * them. */
#ifndef CELLPOST_FEED_FENCE_H
#define CELLPOST_FEED_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/store/event.h"

struct fence {
  char run[ID_UUID_SIZE];
  int64_t end;   /* of how many messages of the run the outputs were */
  int64_t until; /* behind this event nothing is hidden any more; 0: that is
                    not known yet */
};

/* True when the event tells only what is known. Lifts the fence (until = the
 * event's id) when the event is the last to be hidden, or shows that nothing
 * is. */
bool fence_hides(struct fence *fence, const struct event_text *event);

/* True when nothing behind event `position` is hidden. */
bool fence_is_lifted(const struct fence *fence, int64_t position);

#endif
