#include "fcgi/live/watcher.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/feed/event_frame.h"
#include "core/json/json.h"

enum { FCGI_VERSION = 1, FCGI_END_REQUEST = 3, FCGI_STDOUT = 6 };
#define RECORD_MOST 65535
#define HEAD_SIZE 8
#define END_SIZE 24
#define QUEUE_LEAST 8 /* a power of two, as every capacity */

struct frames *watcher_frames_new(const struct buf *text, int64_t last) {
  struct frames *frames = mem_new(sizeof *frames + text->length);
  frames->references = 1;
  frames->last = last;
  frames->length = text->length;
  memcpy(frames->bytes, buf_string(text), text->length);
  return frames;
}

void watcher_frames_release(struct frames *frames) {
  if (--frames->references == 0)
    free(frames);
}

struct watcher *watcher_new(int socket, int request, const char *task,
                            int64_t position, struct fence *fences,
                            size_t fence_count, struct rights *rights) {
  struct watcher *watcher = mem_new(sizeof *watcher);
  watcher->socket = socket;
  watcher->request = request;
  snprintf(watcher->task, sizeof watcher->task, "%s", task == NULL ? "" : task);
  watcher->position = watcher->sent_last = position;
  watcher->fences = fences;
  watcher->fence_count = fence_count;
  watcher->rights = rights;
  watcher->head_sent = HEAD_SIZE;
  watcher->moved = clock_monotonic_ns();
  return watcher;
}

static struct frames **place(const struct watcher *watcher, size_t index) {
  return &watcher->queue[(watcher->first + index) & (watcher->capacity - 1)];
}

void watcher_free(struct watcher *watcher) {
  for (size_t i = 0; i < watcher->count; i++)
    watcher_frames_release(*place(watcher, i));
  free(watcher->queue);
  free(watcher->fences);
  free(watcher->rights);
  mem_close_descriptor(&watcher->socket);
  free(watcher);
}

static void make_room(struct watcher *watcher) {
  if (watcher->count < watcher->capacity)
    return;
  size_t capacity =
      watcher->capacity == 0 ? QUEUE_LEAST : 2 * watcher->capacity;
  struct frames **queue = mem_array(capacity, sizeof(struct frames *));
  for (size_t i = 0; i < watcher->count; i++)
    queue[i] = *place(watcher, i);
  free(watcher->queue);
  watcher->queue = queue;
  watcher->first = 0;
  watcher->capacity = capacity;
}

static void push(struct watcher *watcher, struct frames *frames) {
  make_room(watcher);
  frames->references++;
  watcher->count++;
  watcher->queued += frames->length;
  *place(watcher, watcher->count - 1) = frames;
}

bool watcher_queue(struct watcher *watcher, struct frames *frames) {
  if (watcher->ending)
    return true;
  if (watcher->queued >= WATCHER_QUEUE)
    return false;
  push(watcher, frames);
  return true;
}

static void remove_last(struct watcher *watcher) {
  struct frames *frames = *place(watcher, watcher->count - 1);
  watcher->count--;
  watcher->queued -= frames->length;
  watcher_frames_release(frames);
}

static bool has_begun(const struct watcher *watcher) {
  return watcher->sent != 0 || watcher->head_sent != HEAD_SIZE ||
         watcher->content_left != 0;
}

static void queue_gap(struct watcher *watcher) {
  CLEANUP(json_done) struct json *content = json_object();
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  int64_t last = watcher->count == 0 ? 0 : (*place(watcher, 0))->last;
  json_set_text(content, "reason", "slow");
  json_set_integer(content, "resume", last != 0 ? last : watcher->sent_last);
  json_set_text(content, "detail",
                "this reader did not read as fast as events came; nothing is "
                "lost, they go on behind `resume`");
  event_frame_own(0, "gap", content, &text);
  struct frames *gap = watcher_frames_new(&text, 0);
  push(watcher, gap);
  watcher_frames_release(gap);
}

void watcher_drop(struct watcher *watcher) {
  size_t keep = has_begun(watcher) ? 1 : 0;
  while (watcher->count > keep)
    remove_last(watcher);
  queue_gap(watcher);
  watcher->ending = true;
}

void watcher_end(struct watcher *watcher) { watcher->ending = true; }

static void write_head(const struct watcher *watcher, unsigned char type,
                       size_t length, unsigned char head[HEAD_SIZE]) {
  head[0] = FCGI_VERSION;
  head[1] = type;
  head[2] = (unsigned char)(watcher->request >> 8);
  head[3] = (unsigned char)watcher->request;
  head[4] = (unsigned char)(length >> 8);
  head[5] = (unsigned char)length;
  head[6] = head[7] = 0;
}

/* 1: some of it went; 0: the socket is full; -1: the peer is gone. */
static int put(struct watcher *watcher, struct iovec *parts, size_t count,
               size_t *sent) {
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
  ssize_t result;
  do {
    result = sendmsg(watcher->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    watcher->full = errno == EAGAIN || errno == EWOULDBLOCK;
    return watcher->full ? 0 : -1;
  }
  *sent = (size_t)result;
  return 1;
}

static void finish_first(struct watcher *watcher) {
  struct frames *frames = *place(watcher, 0);
  watcher->first = (watcher->first + 1) & (watcher->capacity - 1);
  watcher->count--;
  watcher->queued -= frames->length;
  watcher->sent = 0;
  if (frames->last != 0)
    watcher->sent_last = frames->last;
  watcher_frames_release(frames);
}

/* As put, for the first of the queue. */
static int put_first(struct watcher *watcher) {
  struct frames *frames = *place(watcher, 0);
  if (watcher->head_sent == HEAD_SIZE && watcher->content_left == 0) {
    size_t rest = frames->length - watcher->sent;
    watcher->content_left = rest > RECORD_MOST ? RECORD_MOST : rest;
    write_head(watcher, FCGI_STDOUT, watcher->content_left, watcher->head);
    watcher->head_sent = 0;
  }
  struct iovec parts[] = {
      {watcher->head + watcher->head_sent, HEAD_SIZE - watcher->head_sent},
      {frames->bytes + watcher->sent, watcher->content_left}};
  size_t sent = 0;
  int result = put(watcher, parts, COUNT_OF(parts), &sent);
  if (result <= 0)
    return result;
  size_t of_head = sent < parts[0].iov_len ? sent : parts[0].iov_len;
  watcher->head_sent += of_head;
  watcher->content_left -= sent - of_head;
  watcher->sent += sent - of_head;
  if (watcher->sent == frames->length)
    finish_first(watcher);
  return 1;
}

/* The end of standard output, and that of the request: status 0, complete. */
static int put_end(struct watcher *watcher) {
  unsigned char end[END_SIZE] = {0};
  write_head(watcher, FCGI_STDOUT, 0, end);
  write_head(watcher, FCGI_END_REQUEST, HEAD_SIZE, end + HEAD_SIZE);
  struct iovec part = {end + watcher->ended, END_SIZE - watcher->ended};
  size_t sent = 0;
  int result = put(watcher, &part, 1, &sent);
  watcher->ended += sent;
  return result;
}

bool watcher_send(struct watcher *watcher, int64_t now) {
  int result = 1;
  while (!watcher->full && watcher->count != 0 && result == 1) {
    result = put_first(watcher);
    if (result == 1)
      watcher->moved = now;
  }
  while (watcher->ending && !watcher->full && watcher->count == 0 &&
         watcher->ended < END_SIZE && result == 1)
    result = put_end(watcher);
  return result >= 0 && watcher->ended < END_SIZE;
}

bool watcher_is_unread(const struct watcher *watcher) {
  int bytes = 0;
  return ioctl(watcher->socket, SIOCOUTQ, &bytes) == 0 && bytes != 0;
}

bool watcher_listen(struct watcher *watcher) {
  char bytes[256];
  for (;;) {
    ssize_t got = recv(watcher->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0)
      return false;
    if (got < 0 && errno != EINTR)
      return errno == EAGAIN || errno == EWOULDBLOCK;
  }
}
