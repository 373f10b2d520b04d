/* Changes of displays of earlier cells, until somebody takes them. Pure. */
#ifndef CELLPOST_NOTEBOOK_DISPLAY_UPDATE_H
#define CELLPOST_NOTEBOOK_DISPLAY_UPDATE_H

#include <stddef.h>

#include "core/json/json.h"

/* Whether an earlier cell shows that id is for the caller to look up. */
struct display_update {
  char *display_id;
  struct json *data;
  struct json *metadata;
};
void display_update_free(struct display_update *update);

/* All zero: none. */
struct display_updates {
  struct pending_display_update *list; /* oldest first */
  size_t count, bytes;
};
void display_updates_free(struct display_updates *updates);

/* Notes one (values are shared); the newest for an id wins. The oldest give way
 * beyond 1024 ids or `most` bytes; `size` is what this one counts. */
void display_updates_note(struct display_updates *updates,
                          const struct display_update *update, size_t size,
                          size_t most);

/* Hands the oldest over: 1, or 0 when there is none. */
int display_updates_take(struct display_updates *updates,
                         struct display_update *ret);

#endif
