#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/run.h"
#include "core/store/run_row.h"

static struct run_display *copy_displays(const struct run_display *displays,
                                         size_t count) {
  struct run_display *copy = mem_array(count, sizeof *copy);
  for (size_t i = 0; i < count; i++)
    copy[i] = (struct run_display){mem_copy_text(displays[i].display_id),
                                   displays[i].position};
  return copy;
}

struct run_ending *run_ending_copy(const struct run_ending *ending) {
  struct run_ending *copy = mem_new(sizeof *copy);
  struct run_record *record = mem_new(sizeof *record);
  *copy = *ending;
  record_copy(&run_shape, ending->record, record);
  copy->record = record;
  copy->outputs = json_copy(ending->outputs);
  copy->artifacts = artifact_copy(ending->artifacts, ending->artifact_count);
  copy->displays = copy_displays(ending->displays, ending->display_count);
  copy->events = event_copy(ending->events, ending->event_count);
  return copy;
}

/* The members of a copy are its own, whatever their type says. */
static void *own(const void *member) { return (void *)(uintptr_t)member; }

void run_ending_free(struct run_ending *ending) {
  if (ending == NULL)
    return;
  run_record_free(own(ending->record));
  free(own(ending->record));
  json_free(own(ending->outputs));
  artifact_copy_free(own(ending->artifacts), ending->artifact_count);
  for (size_t i = 0; i < ending->display_count; i++)
    free(own(ending->displays[i].display_id));
  free(own(ending->displays));
  event_list_free(own(ending->events), ending->event_count);
  free(ending);
}
