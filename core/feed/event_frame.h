/* Events as those outside get them. Pure.
 *
 * The object: {"id", "at", "task", "run", "kind", "content"}, `at` as RFC 3339,
 * task and run null where there is none. As a server-sent event (WHATWG HTML,
 * 9.2) it is the data; the id is its id and the kind its type. */
#ifndef CELLPOST_FEED_EVENT_FRAME_H
#define CELLPOST_FEED_EVENT_FRAME_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/json/json.h"
#include "core/store/event.h"

/* Each appends to `out`; -1 when that is full, which is then unchanged. */
int event_frame_object(const struct event_text *event, struct buf *out);
int event_frame(const struct event_text *event, struct buf *out);

/* An event that is not of the log. id 0: none, so that a reader's last id stays
 * what it was. */
int event_frame_own(int64_t id, const char *type, const struct json *content,
                    struct buf *out);

#endif
