#include "fcgi/live/audience.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>
#include <utlist.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/feed/event_frame.h"
#include "core/store/access/token.h"
#include "core/store/event.h"

#define EVENTS_AT_ONCE 100
/* The web server is woken for each watcher and has other requests beside. So
 * after so many watchers in a row it is waited for until it has taken what the
 * last of them was sent; not long, for a peer may not read at all. */
#define ROW 50
#define ROW_LOOK (CLOCK_MS / 4)
#define ROW_LOOKS 80

/* Those who watch one task, or all (task ""). */
struct audience_group {
  char task[ID_TASK_SIZE];
  struct watcher *watchers;
  struct buf text; /* of the events being handed out */
  int64_t last;
  UT_hash_handle hh;
};

static struct audience_group *find_group(struct audience *audience,
                                         const char *task) {
  struct audience_group *group = NULL;
  HASH_FIND_STR(audience->groups, task, group);
  return group;
}

static void join(struct audience *audience, struct watcher *watcher) {
  struct audience_group *group = find_group(audience, watcher->task);
  if (group == NULL) {
    group = mem_new(sizeof *group);
    memcpy(group->task, watcher->task, sizeof group->task);
    group->text = (struct buf)BUF_INIT(BUF_ANSWER);
    HASH_ADD_STR(audience->groups, task, group);
  }
  DL_DELETE(audience->apart, watcher);
  DL_APPEND(group->watchers, watcher);
  watcher->group = group;
}

void audience_add(struct audience *audience, struct watcher *watcher) {
  DL_APPEND(audience->apart, watcher);
  atomic_fetch_add(&audience->metrics->watchers, 1);
}

void audience_leave(struct audience *audience, struct watcher *watcher) {
  struct audience_group *group = watcher->group;
  struct watcher **list = group == NULL ? &audience->apart : &group->watchers;
  DL_DELETE(*list, watcher);
  watcher_free(watcher);
  atomic_fetch_sub(&audience->places, 1);
  atomic_fetch_sub(&audience->metrics->watchers, 1);
}

void audience_tidy(struct audience *audience) {
  struct audience_group *group = NULL, *next = NULL;
  HASH_ITER(hh, audience->groups, group, next) {
    if (group->watchers != NULL)
      continue;
    HASH_DEL(audience->groups, group); /* NOLINT: it loses track of the list */
    buf_free(&group->text);
    free(group);
  }
}

/* Who stays apart for want of rights is behind only when there is more. */
bool audience_is_behind(const struct audience *audience) {
  const struct watcher *watcher = NULL;
  DL_FOREACH(audience->apart, watcher) {
    if (watcher->rights == NULL || watcher->position < audience->position)
      return true;
  }
  return false;
}

bool audience_is_idle(const struct audience *audience) {
  return audience->groups == NULL && audience->apart == NULL;
}

bool audience_give(struct audience *audience, struct watcher *watcher,
                   struct frames *frames, int64_t now) {
  if (!watcher_queue(watcher, frames)) {
    watcher_drop(watcher);
    atomic_fetch_add(&audience->metrics->watchers_dropped, 1);
  }
  bool stays = watcher_send(watcher, now);
  if (!stays)
    audience_leave(audience, watcher);
  return stays;
}

static void let_read(const struct watcher *watcher) {
  for (int looks = 0; looks < ROW_LOOKS && watcher_is_unread(watcher); looks++)
    nanosleep(&(struct timespec){.tv_nsec = ROW_LOOK}, NULL);
}

static void give_to_group(struct audience *audience,
                          struct audience_group *group) {
  if (group->text.length == 0)
    return;
  int64_t now = clock_monotonic_ns();
  struct frames *frames = watcher_frames_new(&group->text, group->last);
  struct watcher *watcher = NULL, *next = NULL;
  unsigned given = 0;
  DL_FOREACH_SAFE(group->watchers, watcher, next) {
    watcher->position = group->last;
    if (audience_give(audience, watcher, frames, now) && ++given % ROW == 0)
      let_read(watcher);
  }
  watcher_frames_release(frames);
  buf_free(&group->text);
}

static void add_to_group(struct audience_group *group,
                         const struct event_text *event) {
  if (group != NULL && event_frame(event, &group->text) == 0)
    group->last = event->id;
}

static void hand_out(struct audience *audience, const struct event_text *events,
                     size_t count) {
  struct audience_group *all = find_group(audience, "");
  for (size_t i = 0; i < count; i++) {
    add_to_group(all, &events[i]);
    if (events[i].task != NULL)
      add_to_group(find_group(audience, events[i].task), &events[i]);
  }
  audience->position = events[count - 1].id;
  struct audience_group *group = NULL, *next = NULL;
  HASH_ITER(hh, audience->groups, group, next) {
    give_to_group(audience, group);
  }
}

static int read_log(struct audience *audience, struct err *err) {
  size_t count;
  do {
    struct event_text *events = NULL;
    if (event_list_texts(audience->store, NULL, audience->position, INT64_MAX,
                         EVENTS_AT_ONCE, &events, &count, err) < 0)
      return -1;
    if (count != 0)
      hand_out(audience, events, count);
    event_texts_free(events, count);
  } while (count == EVENTS_AT_ONCE);
  return 0;
}

/* What concerns no task is for those who may see all. */
static bool may_know(const struct audience *audience,
                     const struct watcher *watcher,
                     const struct event_text *event) {
  return watcher->rights == NULL ||
         (event->task != NULL &&
          token_may(audience->store, watcher->rights, event->task, NULL) == 1);
}

static bool knows(struct watcher *watcher, const struct event_text *event) {
  bool hidden = false;
  for (size_t i = 0; i < watcher->fence_count; i++)
    hidden |= fence_hides(&watcher->fences[i], event);
  return hidden;
}

static bool give_own(struct audience *audience, struct watcher *watcher,
                     const struct event_text *events, size_t count) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  for (size_t i = 0; i < count; i++)
    if (!knows(watcher, &events[i]) && may_know(audience, watcher, &events[i]))
      event_frame(&events[i], &text);
  if (text.length == 0)
    return true;
  struct frames *frames = watcher_frames_new(&text, events[count - 1].id);
  bool stays = audience_give(audience, watcher, frames, clock_monotonic_ns());
  watcher_frames_release(frames);
  return stays;
}

/* Who may not see all is given a choice of their own, and stays apart. */
static bool is_abreast(const struct audience *audience,
                       const struct watcher *watcher) {
  if (watcher->rights != NULL)
    return false;
  for (size_t i = 0; i < watcher->fence_count; i++)
    if (!fence_is_lifted(&watcher->fences[i], watcher->position))
      return false;
  return watcher->position == audience->position;
}

/* The next piece of the log. 1; 0: the watcher is gone. */
static int give_piece(struct audience *audience, struct watcher *watcher,
                      struct err *err) {
  const char *task = watcher->task[0] == '\0' ? NULL : watcher->task;
  struct event_text *events = NULL;
  size_t count = 0;
  if (event_list_texts(audience->store, task, watcher->position,
                       audience->position, EVENTS_AT_ONCE, &events, &count,
                       err) < 0)
    return -1;
  watcher->position =
      count < EVENTS_AT_ONCE ? audience->position : events[count - 1].id;
  bool stays = give_own(audience, watcher, events, count);
  event_texts_free(events, count);
  return stays;
}

/* Each that is apart gets a piece, once it has read the one before. */
static int bring_up(struct audience *audience, struct err *err) {
  struct watcher *watcher = NULL, *next = NULL;
  DL_FOREACH_SAFE(audience->apart, watcher, next) {
    int result = 1;
    if (watcher->count == 0 && watcher->position < audience->position)
      result = give_piece(audience, watcher, err);
    if (result < 0)
      return -1;
    if (result == 1 && is_abreast(audience, watcher))
      join(audience, watcher);
  }
  return 0;
}

int audience_give_news(struct audience *audience, struct err *err) {
  return read_log(audience, err) < 0 ? -1 : bring_up(audience, err);
}

int audience_skip_news(struct audience *audience, struct err *err) {
  int64_t oldest;
  return event_bounds(audience->store, &oldest, &audience->position, err);
}

static void visit_list(struct watcher *first,
                       void (*each)(void *context, struct watcher *watcher),
                       void *context) {
  struct watcher *watcher = NULL, *next = NULL;
  DL_FOREACH_SAFE(first, watcher, next) { each(context, watcher); }
}

void audience_visit(struct audience *audience,
                    void (*each)(void *context, struct watcher *watcher),
                    void *context) {
  struct audience_group *group = NULL, *next = NULL;
  visit_list(audience->apart, each, context);
  HASH_ITER(hh, audience->groups, group, next) {
    visit_list(group->watchers, each, context);
  }
}
