#include "core/notebook/output_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* Below this a stream does not shrink for the sake of others (bytes). */
enum { SMALL_STREAM = 4096 };

static void count_stream(const struct output_entry *entry, uint64_t bytes,
                         uint64_t lines, struct output_dropped *dropped) {
  if (strcmp(entry->name, "stderr") == 0) {
    dropped->stderr_bytes += bytes;
    dropped->stderr_lines += lines;
  } else {
    dropped->stdout_bytes += bytes;
    dropped->stdout_lines += lines;
  }
}

/* What the stream dropped while it was kept. */
static void count_cut(const struct output_entry *entry,
                      struct output_dropped *dropped) {
  if (entry->kind == OUTPUT_STREAM)
    count_stream(entry, terminal_dropped_bytes(entry->terminal),
                 terminal_dropped_lines(entry->terminal), dropped);
}

void output_list_free(struct output_list *list) {
  for (size_t i = 0; i < list->count; i++)
    output_entry_free(&list->entries[i]);
  free(list->entries);
}

struct output_entry *output_list_last(const struct output_list *list,
                                      unsigned area) {
  for (size_t i = list->count; i-- > 0;) {
    if (list->entries[i].area == area)
      return &list->entries[i];
    if (area == 0)
      break; /* what a widget has put out stands between */
  }
  return NULL;
}

static struct output_entry *insert(struct output_list *list, size_t index,
                                   const struct output_entry *entry) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity * 2 + 8;
    list->entries =
        mem_grow(list->entries, list->capacity, sizeof *list->entries);
  }
  struct output_entry *to = list->entries + index;
  memmove(to + 1, to, (list->count - index) * sizeof *to);
  *to = *entry;
  to->serial = ++list->serials;
  list->count++;
  if (list->gap > index)
    list->gap++;
  return to;
}

struct output_entry *output_list_append(struct output_list *list,
                                        const struct output_entry *entry,
                                        size_t place) {
  size_t index = list->count;
  struct output_entry *last = output_list_last(list, entry->area);
  if (last != NULL)
    index = (size_t)(last - list->entries) + 1;
  else if (entry->area != 0 && place < list->count)
    index = place;
  list->text += entry->size;
  list->artifacts += entry->artifacts;
  return insert(list, index, entry);
}

void output_list_changed(struct output_list *list,
                         const struct output_entry *entry, size_t text,
                         size_t artifacts) {
  list->text += entry->size - text;
  list->artifacts += entry->artifacts - artifacts;
}

/* Where the gap shall be: behind at most half of the outputs with at most half
 * of the bytes. */
static size_t place_of_gap(const struct output_list *list) {
  size_t index = 0, bytes = 0;
  while (index < list->limits.outputs / 2 && index + 1 < list->count) {
    bytes += list->entries[index].size;
    if (bytes > list->limits.bytes / 2)
      break;
    index++;
  }
  return index;
}

static size_t count_lines(const struct json *text) {
  const char *at = json_text(text), *end = at + json_text_length(text);
  size_t count = at < end && end[-1] != '\n' ? 1 : 0;
  while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    count++;
    at++;
  }
  return count;
}

/* Frees the entry and closes the list up. */
static void take_out(struct output_list *list, size_t index) {
  struct output_entry *entry = &list->entries[index];
  list->text -= entry->size;
  list->artifacts -= entry->artifacts;
  output_entry_free(entry);
  list->count--;
  memmove(entry, entry + 1, (list->count - index) * sizeof *entry);
  if (list->gap > index)
    list->gap = list->gap == index + 1 ? 0 : list->gap - 1;
}

static void count_evicted(struct output_list *list,
                          struct output_entry *entry) {
  if (entry->kind == OUTPUT_STREAM) {
    size_t lines = count_lines(output_entry_text(entry));
    bool marked = terminal_dropped_bytes(entry->terminal) > 0;
    count_cut(entry, &list->gone);
    count_stream(entry, entry->size, lines - (marked ? 1 : 0), &list->gone);
  } else {
    size_t elsewhere = list->evicted == NULL || entry->data == NULL
                           ? 0
                           : list->evicted(list->context, entry);
    list->gone.value_bytes += entry->size + entry->artifacts - elsewhere;
  }
  list->gone.outputs++;
}

static void open_gap(struct output_list *list) {
  struct output_entry entry = {.kind = OUTPUT_GAP};
  size_t place = place_of_gap(list);
  insert(list, place, &entry);
  list->gap = place + 1;
}

/* Drops the oldest output behind the gap, else the one in front of it. Returns
 * false when nothing but the newest is left. */
static bool drop_one(struct output_list *list, uint64_t newest) {
  if (list->gap == 0) {
    if (list->count < 2)
      return false;
    open_gap(list);
  }
  size_t gap = list->gap - 1, victim = gap + 1;
  if (victim < list->count && list->entries[victim].serial == newest)
    victim++;
  if (victim >= list->count)
    victim = gap - 1;
  if (victim < list->count && list->entries[victim].serial == newest)
    victim--;
  if (victim >= list->count)
    return false;
  count_evicted(list, &list->entries[victim]);
  take_out(list, victim);
  struct output_entry *entry = &list->entries[list->gap - 1];
  entry->gap++;
  json_free(entry->rendered);
  entry->rendered = NULL;
  return true;
}

static struct output_entry *largest_stream(const struct output_list *list) {
  struct output_entry *largest = NULL;
  size_t size = SMALL_STREAM;
  for (size_t i = 0; i < list->count; i++) {
    struct output_entry *entry = &list->entries[i];
    if (entry->kind == OUTPUT_STREAM && entry->size > size) {
      largest = entry;
      size = entry->size;
    }
  }
  return largest;
}

/* Takes the excess from the largest stream. Returns false when all are small.
 */
static bool shrink_one(struct output_list *list) {
  struct output_entry *entry = largest_stream(list);
  if (entry == NULL)
    return false;
  size_t before = entry->size, excess = list->text - list->limits.bytes;
  size_t most = before > SMALL_STREAM + excess ? before - excess : SMALL_STREAM;
  output_entry_shrink(entry, most);
  output_list_changed(list, entry, before, entry->artifacts);
  return true;
}

void output_list_settle(struct output_list *list, uint64_t newest) {
  bool going = true;
  while (going && list->text > list->limits.bytes)
    going = shrink_one(list) || drop_one(list, newest);
  going = true;
  while (going && list->count > list->limits.outputs + (list->gap != 0 ? 1 : 0))
    going = drop_one(list, newest);
}

size_t output_list_clear(struct output_list *list, unsigned area) {
  size_t first = SIZE_MAX;
  for (size_t i = list->count; i-- > 0;) {
    if (area != 0 && list->entries[i].area != area)
      continue;
    first = i;
    count_cut(&list->entries[i], &list->gone);
    take_out(list, i);
  }
  return first;
}

void output_list_left_out(struct output_list *list,
                          const struct mimebundle_left_out *left_out) {
  list->gone.values += left_out->values;
  list->gone.value_bytes += left_out->bytes;
}

void output_list_dropped(const struct output_list *list,
                         struct output_dropped *ret) {
  *ret = list->gone;
  for (size_t i = 0; i < list->count; i++)
    count_cut(&list->entries[i], ret);
}
