#include "fcgi/live/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define STACK_SIZE ((size_t)128 << 10)

struct stream {
  struct reply *reply; /* touched by the pump alone while it lives */
  enum accept_format format;
  bool started; /* the response's head is out, or will be by the pump */
  bool pumping; /* the thread exists */
  pthread_t pump;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t changed;
  struct buf queue;
  int64_t dropped; /* events since the queue was full */
  bool ending;     /* nothing will be queued any more */
};

int stream_frame(enum accept_format format, const char *type,
                 const struct json *content, struct buf *out) {
  size_t before = out->length;
  bool alive = strcmp(type, "keepalive") == 0;
  int result = 0;
  if (format == ACCEPT_SSE && alive) {
    result = buf_text(out, ": keepalive\n\n");
  } else if (format == ACCEPT_SSE) {
    result |= buf_format(out, "event: %s\ndata: ", type);
    result |= json_write(content, out);
    result |= buf_text(out, "\n\n");
  } else {
    result |= buf_format(out, "{\"type\":\"%s\"%s", type,
                         alive ? "" : ",\"content\":");
    result |= alive ? 0 : json_write(content, out);
    result |= buf_text(out, "}\n");
  }
  if (result < 0)
    buf_truncate(out, before);
  return result;
}

static void start(struct stream *stream) {
  bool sse = stream->format == ACCEPT_SSE;
  reply_header(stream->reply, "X-Accel-Buffering", "no");
  reply_start(stream->reply, 200,
              sse ? "text/event-stream" : "application/x-ndjson");
}

/* Waits for events; false when there are none and none will come. */
static bool take(struct stream *stream, struct buf *events) {
  pthread_mutex_lock(&stream->mutex);
  while (stream->queue.length == 0 && !stream->ending)
    pthread_cond_wait(&stream->changed, &stream->mutex);
  struct buf emptied = *events;
  *events = stream->queue;
  stream->queue = emptied;
  pthread_mutex_unlock(&stream->mutex);
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

/* Without a thread the events stay queued until stream_close. */
static void start_pump(struct stream *stream) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  stream->pumping =
      pthread_create(&stream->pump, &attributes, pump, stream) == 0;
  pthread_attr_destroy(&attributes);
  stream->started = true;
}

struct stream *stream_open(struct reply *reply, enum accept_format format) {
  struct stream *stream = mem_new(sizeof *stream);
  stream->reply = reply;
  stream->format = format;
  stream->queue = (struct buf)BUF_INIT(BUF_ANSWER);
  pthread_mutex_init(&stream->mutex, NULL);
  pthread_cond_init(&stream->changed, NULL);
  return stream;
}

bool stream_is_started(const struct stream *stream) { return stream->started; }

/* Tells of the events that found no room, when there is room again. */
static int queue_gap(struct stream *stream) {
  if (stream->dropped == 0)
    return 0;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_integer(content, "dropped", stream->dropped);
  if (stream_frame(stream->format, "gap", content, &stream->queue) < 0)
    return -1;
  stream->dropped = 0;
  return 0;
}

void stream_event(struct stream *stream, const char *type,
                  const struct json *content) {
  if (!stream->started)
    start_pump(stream);
  pthread_mutex_lock(&stream->mutex);
  if (stream->queue.length >= STREAM_QUEUE || queue_gap(stream) < 0 ||
      stream_frame(stream->format, type, content, &stream->queue) < 0)
    stream->dropped++;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
}

static void end_pump(struct stream *stream) {
  pthread_mutex_lock(&stream->mutex);
  stream->ending = true;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
  if (stream->pumping)
    pthread_join(stream->pump, NULL);
  else if (stream->started)
    pump(stream);
}

static void write_final(struct stream *stream, const char *type,
                        const struct json *content) {
  CLEANUP(buf_free) struct buf frame = BUF_INIT(BUF_ANSWER);
  if (!stream->started)
    start(stream);
  queue_gap(stream);
  reply_write(stream->reply, buf_string(&stream->queue), stream->queue.length);
  if (stream_frame(stream->format, type, content, &frame) == 0)
    reply_write(stream->reply, buf_string(&frame), frame.length);
  reply_flush(stream->reply);
}

void stream_close(struct stream *stream, const char *type,
                  const struct json *content) {
  end_pump(stream);
  if (type != NULL)
    write_final(stream, type, content);
  buf_free(&stream->queue);
  pthread_mutex_destroy(&stream->mutex);
  pthread_cond_destroy(&stream->changed);
  free(stream);
}
