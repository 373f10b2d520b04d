/* A streamed answer: events as they come, one final event.
 *
 * The thread that runs a cell must never wait for a slow reader: events go
 * through a bounded queue to a thread of the stream's own, which writes. When
 * the queue is full events are dropped, and an event "gap" tells how many, in
 * their place. The final event is never dropped. A client that is gone is no
 * error: what is sent to it goes nowhere.
 *
 * Server-sent events (WHATWG HTML, 9.2): "event: TYPE\ndata: JSON\n\n", keep-
 * alives are comments. NDJSON: {"type": TYPE, "content": JSON} a line, keep-
 * alives are lines of type "keepalive". */
#ifndef CELLPOST_FCGI_LIVE_STREAM_H
#define CELLPOST_FCGI_LIVE_STREAM_H

#include "core/json/json.h"
#include "fcgi/http/reply.h"

/* While so many bytes wait, events are dropped. The event that passes this mark
 * is still queued, whatever its size. */
#define STREAM_QUEUE ((size_t)16 << 20)

struct stream;

/* How events stand in a response. Pure functions. */
struct stream_form {
  const char *mime;
  /* Appends an event, or nothing. -1 when `out` is full, which is then
   * unchanged. "keepalive" has no content. */
  int (*frame)(const char *type, const struct json *content, struct buf *out);
};
extern const struct stream_form stream_sse, stream_ndjson;

/* Nothing is written before the first event. */
struct stream *stream_open(struct reply *reply, const struct stream_form *form);

/* True once an event was sent: the status of the response is then 200. */
bool stream_is_started(const struct stream *stream);

/* Queues an event; never waits. type "keepalive" has no content. */
void stream_event(struct stream *stream, const char *type,
                  const struct json *content);

/* Sends the final event (type NULL: none), waits until everything is written
 * or the client is gone, and releases the stream. */
void stream_close(struct stream *stream, const char *type,
                  const struct json *content);

#endif
