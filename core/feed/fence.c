#include "core/feed/fence.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"

static void lift(struct fence *fence, const struct event_text *event) {
  if (fence->until == 0 || fence->until > event->id)
    fence->until = event->id;
}

/* Messages of the run up to the end of the batch; -1: not told. */
static int64_t end_of(const struct event_text *event) {
  CLEANUP(json_done) struct json *content = NULL;
  if (json_parse(event->content, strlen(event->content), &JSON_RULES_STORE,
                 &content, NULL) != 0)
    return -1;
  return json_get_integer(content, "end", -1);
}

bool fence_hides(struct fence *fence, const struct event_text *event) {
  if (event->run == NULL || strcmp(event->run, fence->run) != 0 ||
      fence_is_lifted(fence, event->id - 1))
    return false;
  if (strcmp(event->kind, "run.finished") == 0)
    lift(fence, event);
  if (strcmp(event->kind, "run.output") != 0)
    return false;
  int64_t end = end_of(event);
  if (end >= fence->end)
    lift(fence, event);
  return end >= 0 && end <= fence->end;
}

bool fence_is_lifted(const struct fence *fence, int64_t position) {
  return fence->until != 0 && position >= fence->until;
}
