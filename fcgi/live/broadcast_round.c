#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/feed/event_frame.h"
#include "core/store/event.h"
#include "fcgi/live/broadcast_private.h"

#define ROUND (20 * CLOCK_MS)
/* A pause is so many times the processor time of the round before it: with very
 * many watchers events come in larger pieces, less often. */
#define ROUND_SHARE 3
/* The log cannot be read: again after so long. */
#define TROUBLE (1 * CLOCK_S)
#define EVENTS_AT_ONCE 100
/* So many watchers in a row; then the web server, which is woken for each of
 * them and has other requests beside, is waited for until it has taken what the
 * last of them was sent; but for a peer that does not read, not long. */
#define ROW 50
#define ROW_LOOK (CLOCK_MS / 4)
#define ROW_LOOKS 80

static struct group *find_group(struct broadcast *broadcast, const char *task) {
  struct group *group = NULL;
  HASH_FIND_STR(broadcast->groups, task, group);
  return group;
}

static void join(struct broadcast *broadcast, struct watcher *watcher) {
  struct group *group = find_group(broadcast, watcher->task);
  if (group == NULL) {
    group = mem_new(sizeof *group);
    memcpy(group->task, watcher->task, sizeof group->task);
    group->text = (struct buf)BUF_INIT(BUF_ANSWER);
    HASH_ADD_STR(broadcast->groups, task, group);
  }
  DL_DELETE(broadcast->apart, watcher);
  DL_APPEND(group->watchers, watcher);
  watcher->group = group;
}

void broadcast_leave(struct broadcast *broadcast, struct watcher *watcher) {
  struct group *group = watcher->group;
  struct watcher **list = group == NULL ? &broadcast->apart : &group->watchers;
  DL_DELETE(*list, watcher);
  watcher_free(watcher);
  broadcast_release(broadcast);
  atomic_fetch_sub(&broadcast->metrics->watchers, 1);
}

void broadcast_tidy(struct broadcast *broadcast) {
  struct group *group = NULL, *next = NULL;
  HASH_ITER(hh, broadcast->groups, group, next) {
    if (group->watchers != NULL)
      continue;
    HASH_DEL(broadcast->groups, group); /* NOLINT: it loses track of the list */
    buf_free(&group->text);
    free(group);
  }
}

bool broadcast_is_idle(const struct broadcast *broadcast) {
  return broadcast->groups == NULL && broadcast->apart == NULL;
}

/* False: the watcher is gone. */
bool broadcast_give(struct broadcast *broadcast, struct watcher *watcher,
                    struct frames *frames, int64_t now) {
  if (!watcher_queue(watcher, frames)) {
    watcher_drop(watcher);
    atomic_fetch_add(&broadcast->metrics->watchers_dropped, 1);
  }
  bool stays = watcher_send(watcher, now);
  if (!stays)
    broadcast_leave(broadcast, watcher);
  return stays;
}

static void let_read(const struct watcher *watcher) {
  for (int looks = 0; looks < ROW_LOOKS && watcher_is_unread(watcher); looks++)
    nanosleep(&(struct timespec){.tv_nsec = ROW_LOOK}, NULL);
}

static void give_to_group(struct broadcast *broadcast, struct group *group) {
  if (group->text.length == 0)
    return;
  int64_t now = clock_monotonic_ns();
  struct frames *frames = frames_new(&group->text, group->last);
  struct watcher *watcher = NULL, *next = NULL;
  unsigned given = 0;
  DL_FOREACH_SAFE(group->watchers, watcher, next) {
    watcher->position = group->last;
    if (broadcast_give(broadcast, watcher, frames, now) && ++given % ROW == 0)
      let_read(watcher);
  }
  frames_release(frames);
  buf_free(&group->text);
}

static void add_to_group(struct group *group, const struct event_text *event) {
  if (group != NULL && event_frame(event, &group->text) == 0)
    group->last = event->id;
}

static void hand_out(struct broadcast *broadcast,
                     const struct event_text *events, size_t count) {
  struct group *all = find_group(broadcast, "");
  for (size_t i = 0; i < count; i++) {
    add_to_group(all, &events[i]);
    if (events[i].task != NULL)
      add_to_group(find_group(broadcast, events[i].task), &events[i]);
  }
  broadcast->position = events[count - 1].id;
  struct group *group = NULL, *next = NULL;
  HASH_ITER(hh, broadcast->groups, group, next) {
    give_to_group(broadcast, group);
  }
}

static int read_log(struct broadcast *broadcast, struct err *err) {
  size_t count;
  do {
    struct event_text *events = NULL;
    if (event_list_texts(broadcast->store, NULL, broadcast->position, INT64_MAX,
                         EVENTS_AT_ONCE, &events, &count, err) < 0)
      return -1;
    if (count != 0)
      hand_out(broadcast, events, count);
    event_texts_free(events, count);
  } while (count == EVENTS_AT_ONCE);
  return 0;
}

static bool knows(struct watcher *watcher, const struct event_text *event) {
  bool hidden = false;
  for (size_t i = 0; i < watcher->fence_count; i++)
    hidden |= fence_hides(&watcher->fences[i], event);
  return hidden;
}

static bool give_own(struct broadcast *broadcast, struct watcher *watcher,
                     const struct event_text *events, size_t count) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  for (size_t i = 0; i < count; i++)
    if (!knows(watcher, &events[i]))
      event_frame(&events[i], &text);
  if (text.length == 0)
    return true;
  struct frames *frames = frames_new(&text, events[count - 1].id);
  bool stays = broadcast_give(broadcast, watcher, frames, clock_monotonic_ns());
  frames_release(frames);
  return stays;
}

static bool is_abreast(const struct broadcast *broadcast,
                       const struct watcher *watcher) {
  for (size_t i = 0; i < watcher->fence_count; i++)
    if (!fence_is_lifted(&watcher->fences[i], watcher->position))
      return false;
  return watcher->position == broadcast->position;
}

/* The next piece of the log. 1; 0: the watcher is gone. */
static int give_piece(struct broadcast *broadcast, struct watcher *watcher,
                      struct err *err) {
  const char *task = watcher->task[0] == '\0' ? NULL : watcher->task;
  struct event_text *events = NULL;
  size_t count = 0;
  if (event_list_texts(broadcast->store, task, watcher->position,
                       broadcast->position, EVENTS_AT_ONCE, &events, &count,
                       err) < 0)
    return -1;
  watcher->position =
      count < EVENTS_AT_ONCE ? broadcast->position : events[count - 1].id;
  bool stays = give_own(broadcast, watcher, events, count);
  event_texts_free(events, count);
  return stays;
}

/* Each that is apart gets a piece, once it has read the one before. */
static int bring_up(struct broadcast *broadcast, struct err *err) {
  struct watcher *watcher = NULL, *next = NULL;
  DL_FOREACH_SAFE(broadcast->apart, watcher, next) {
    int result = 1;
    if (watcher->count == 0 && watcher->position < broadcast->position)
      result = give_piece(broadcast, watcher, err);
    if (result < 0)
      return -1;
    if (result == 1 && is_abreast(broadcast, watcher))
      join(broadcast, watcher);
  }
  return 0;
}

static int64_t spent_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * CLOCK_S + time.tv_nsec;
}

void broadcast_round(struct broadcast *broadcast) {
  struct err err = {0};
  int64_t before = spent_ns();
  if (read_log(broadcast, &err) < 0 || bring_up(broadcast, &err) < 0) {
    log_error("the live feed pauses: %s", err.text);
    broadcast->round_at = clock_monotonic_ns() + TROUBLE;
    return;
  }
  int64_t pause = ROUND_SHARE * (spent_ns() - before);
  broadcast->round_at = clock_monotonic_ns() + (pause > ROUND ? pause : ROUND);
}
