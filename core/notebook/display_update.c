#include "core/notebook/display_update.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum { MOST_UPDATES = 1024 };

struct pending_display_update {
  struct display_update update;
  size_t size;
};

void display_update_free(struct display_update *update) {
  free(update->display_id);
  json_free(update->data);
  json_free(update->metadata);
  *update = (struct display_update){0};
}

void display_updates_free(struct display_updates *updates) {
  for (size_t i = 0; i < updates->count; i++)
    display_update_free(&updates->list[i].update);
  free(updates->list);
  *updates = (struct display_updates){0};
}

static void forget(struct display_updates *updates, size_t index) {
  struct pending_display_update *pending = &updates->list[index];
  display_update_free(&pending->update);
  updates->bytes -= pending->size;
  updates->count--;
  memmove(pending, pending + 1, (updates->count - index) * sizeof *pending);
}

void display_updates_note(struct display_updates *updates,
                          const struct display_update *update, size_t size,
                          size_t most) {
  for (size_t i = 0; i < updates->count; i++) {
    if (strcmp(updates->list[i].update.display_id, update->display_id) == 0) {
      forget(updates, i);
      break;
    }
  }
  while (updates->count > 0 &&
         (updates->count == MOST_UPDATES || updates->bytes + size > most))
    forget(updates, 0);
  updates->list =
      mem_grow(updates->list, updates->count + 1, sizeof *updates->list);
  updates->bytes += size;
  updates->list[updates->count++] = (struct pending_display_update){
      .size = size,
      .update = {.display_id = mem_copy_text(update->display_id),
                 .data = json_share(update->data),
                 .metadata = json_share(update->metadata)},
  };
}

int display_updates_take(struct display_updates *updates,
                         struct display_update *ret) {
  if (updates->count == 0)
    return 0;
  *ret = updates->list[0].update;
  updates->list[0].update = (struct display_update){0};
  forget(updates, 0);
  return 1;
}
