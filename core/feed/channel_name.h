/* The name of the channel that an event is published on. Pure. */
#ifndef CELLPOST_FEED_CHANNEL_NAME_H
#define CELLPOST_FEED_CHANNEL_NAME_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/store/event.h"

/* Appends `pattern` with {task}, {run} and {kind} replaced; what an event does
 * not have becomes nothing. ERR_INVALID: there is another word in braces. */
int channel_name(const char *pattern, const struct event_text *event,
                 struct buf *out, struct err *err);

#endif
