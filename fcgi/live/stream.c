#include "fcgi/live/stream.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/worker.h"

struct stream {
  struct reply *reply; /* touched by the pump alone while it lives */
  const struct stream_form *form;
  bool started;       /* the pump sees to the response's head */
  struct worker pump; /* its mutex guards what follows */
  struct buf queue;
  int64_t dropped; /* events since the queue was full */
};

static int frame_sse(const char *type, const struct json *content,
                     struct buf *out) {
  size_t before = out->length;
  int result = 0;
  if (strcmp(type, "keepalive") == 0)
    return buf_text(out, ": keepalive\n\n");
  result |= buf_format(out, "event: %s\ndata: ", type);
  result |= json_write(content, out);
  result |= buf_text(out, "\n\n");
  if (result < 0)
    buf_truncate(out, before);
  return result;
}

static int frame_ndjson(const char *type, const struct json *content,
                        struct buf *out) {
  size_t before = out->length;
  bool alive = strcmp(type, "keepalive") == 0;
  int result =
      buf_format(out, "{\"type\":\"%s\"%s", type, alive ? "" : ",\"content\":");
  result |= alive ? 0 : json_write(content, out);
  result |= buf_text(out, "}\n");
  if (result < 0)
    buf_truncate(out, before);
  return result;
}

const struct stream_form stream_sse = {"text/event-stream", frame_sse};
const struct stream_form stream_ndjson = {"application/x-ndjson", frame_ndjson};

static void start(struct stream *stream) {
  reply_header(stream->reply, "X-Accel-Buffering", "no");
  reply_start(stream->reply, 200, stream->form->mime);
}

/* Waits for events; false when there are none and none will come. */
static bool take(struct stream *stream, struct buf *events) {
  pthread_mutex_lock(&stream->pump.mutex);
  while (stream->queue.length == 0 && !stream->pump.stop)
    pthread_cond_wait(&stream->pump.changed, &stream->pump.mutex);
  struct buf emptied = *events;
  *events = stream->queue;
  stream->queue = emptied;
  pthread_mutex_unlock(&stream->pump.mutex);
  return events->length != 0;
}

static void *pump(void *context) {
  struct stream *stream = context;
  CLEANUP(buf_free) struct buf events = BUF_INIT(BUF_ANSWER);
  start(stream);
  while (take(stream, &events)) {
    reply_write(stream->reply, buf_string(&events), events.length);
    reply_flush(stream->reply);
    buf_reset(&events);
  }
  return NULL;
}

struct stream *stream_open(struct reply *reply,
                           const struct stream_form *form) {
  struct stream *stream = mem_new(sizeof *stream);
  stream->reply = reply;
  stream->form = form;
  stream->queue = (struct buf)BUF_INIT(BUF_ANSWER);
  return stream;
}

bool stream_is_started(const struct stream *stream) { return stream->started; }

/* Tells of the events that found no room, when there is room again. */
static int queue_gap(struct stream *stream) {
  if (stream->dropped == 0)
    return 0;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_integer(content, "dropped", stream->dropped);
  if (stream->form->frame("gap", content, &stream->queue) < 0)
    return -1;
  stream->dropped = 0;
  return 0;
}

/* Without a thread the events wait for stream_close. */
void stream_event(struct stream *stream, const char *type,
                  const struct json *content) {
  stream->started =
      stream->started ||
      worker_start(&stream->pump, pump, stream, "a stream's thread", NULL) >= 0;
  if (stream->started)
    pthread_mutex_lock(&stream->pump.mutex);
  if (stream->queue.length >= STREAM_QUEUE || queue_gap(stream) < 0 ||
      stream->form->frame(type, content, &stream->queue) < 0)
    stream->dropped++;
  if (!stream->started)
    return;
  pthread_cond_signal(&stream->pump.changed);
  pthread_mutex_unlock(&stream->pump.mutex);
}

static void write_final(struct stream *stream, const char *type,
                        const struct json *content) {
  CLEANUP(buf_free) struct buf frame = BUF_INIT(BUF_ANSWER);
  if (!stream->started)
    start(stream);
  queue_gap(stream);
  reply_write(stream->reply, buf_string(&stream->queue), stream->queue.length);
  if (stream->form->frame(type, content, &frame) == 0)
    reply_write(stream->reply, buf_string(&frame), frame.length);
  reply_flush(stream->reply);
}

void stream_close(struct stream *stream, const char *type,
                  const struct json *content) {
  if (stream->started)
    worker_stop(&stream->pump);
  if (type != NULL)
    write_final(stream, type, content);
  buf_free(&stream->queue);
  free(stream);
}
