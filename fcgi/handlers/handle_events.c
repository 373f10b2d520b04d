/* /v1/events and /v1/tasks/{task}/events: the live feed */
#include <string.h>

#include "core/base/mem.h"
#include "core/feed/event_frame.h"
#include "core/run/history/watch.h"
#include "fcgi/handlers/routes.h"
#include "fcgi/live/broadcast.h"

#define NO_EVENT INT64_C(-1)

static int read_header(const struct call *call, int64_t *ret, struct err *err) {
  const char *text = request_header(call->request, "HTTP_LAST_EVENT_ID");
  if (text == NULL || request_read_number(text, ret) >= 0)
    return 0;
  return err_set(err, ERR_INVALID,
                 "the header Last-Event-ID must be the id of an event");
}

/* The header goes before: a browser that connects again repeats the address of
 * its first connection. */
static int read_last_event(const struct call *call, int64_t *ret,
                           struct err *err) {
  if (request_integer(call->request, "last_event_id", 0, INT64_MAX / 16,
                      NO_EVENT, ret, err) < 0)
    return -1;
  return read_header(call, ret, err);
}

static int add_gap(struct buf *text, struct err *err) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "reason", "unknown");
  json_set(content, "resume", NULL);
  json_set_text(content, "detail",
                "the event to go on from is not in the log (any more); the "
                "present state follows");
  if (event_frame_own(0, "gap", content, text) == 0)
    return 0;
  return err_set(err, ERR_INTERNAL, "no room for an event");
}

/* Writes what a watcher is sent first: after how many ms to come again, and the
 * present state unless it can go on from where it was. It is never nothing, so
 * that the web server passes the head on at once. */
static int begin(const struct call *call, struct watch_start *start,
                 struct buf *text, struct err *err) {
  int64_t after;
  buf_text(text, "retry: 1000\n\n");
  if (read_last_event(call, &after, err) < 0)
    return -1;
  int resumes =
      after == NO_EVENT ? 0 : watch_can_resume(call->engine, after, err);
  if (resumes < 0)
    return -1;
  if (resumes == 1) {
    start->position = after;
    return 0;
  }
  if (after != NO_EVENT && add_gap(text, err) < 0)
    return -1;
  if (watch_begin(call->engine, call->task, caller_rights(&call->caller), start,
                  err) < 0)
    return -1;
  if (event_frame_own(start->position, "state", start->state, text) == 0)
    return 0;
  return err_set(err, ERR_TOO_LARGE, "the state is over %zu bytes",
                 text->limit);
}

/* The response's head by the request's own thread, the rest by the broadcast.
 * The place is the watcher's, or is given back. */
static void hand_over(struct call *call, struct watch_start *start,
                      const struct buf *text) {
  reply_header(call->reply, "X-Accel-Buffering", "no");
  reply_start(call->reply, 200, "text/event-stream");
  int request = 0;
  int socket = strcmp(call->request->method, "HEAD") == 0
                   ? -1
                   : door_detach(call->request->door, &request);
  if (socket < 0) {
    broadcast_release(call->service->broadcast);
    return;
  }
  /* A task of which the caller may know needs no choice among its events. */
  struct rights *rights =
      call->task == NULL ? rights_copy(caller_rights(&call->caller)) : NULL;
  struct watcher *watcher =
      watcher_new(socket, request, call->task, start->position,
                  MEM_STEAL(start->fences), start->fence_count, rights);
  memcpy(watcher->token, call->caller.hash, sizeof watcher->token);
  watcher->asked = watcher->moved;
  broadcast_add(call->service->broadcast, watcher,
                watcher_frames_new(text, start->position));
}

int handle_events(struct call *call, struct err *err) {
  CLEANUP(watch_start_free) struct watch_start start = {0};
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  if (call->service->broadcast == NULL)
    return err_set(err, ERR_UNAVAILABLE,
                   "over plain CGI there is no live feed; it needs FastCGI");
  if (!broadcast_reserve(call->service->broadcast))
    return err_set(err, ERR_UNAVAILABLE,
                   "%lld watchers are connected, and no more are taken (the "
                   "key \"watchers\" in cellpost.conf)",
                   (long long)call->conf->watchers);
  if (begin(call, &start, &text, err) < 0) {
    broadcast_release(call->service->broadcast);
    return -1;
  }
  hand_over(call, &start, &text);
  return 0;
}
