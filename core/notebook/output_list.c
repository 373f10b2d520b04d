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

static void free_entries(struct output_list *list) {
  for (size_t i = 0; i < list->count; i++)
    output_entry_free(&list->entries[i]);
  list->count = 0;
  list->kept = 0;
  list->has_gap = false;
}

void output_list_free(struct output_list *list) {
  free_entries(list);
  free(list->entries);
}

struct output_entry *output_list_last(const struct output_list *list) {
  return list->count == 0 ? NULL : &list->entries[list->count - 1];
}

static void insert(struct output_list *list, size_t index,
                   const struct output_entry *entry) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity * 2 + 8;
    list->entries =
        mem_grow(list->entries, list->capacity, sizeof *list->entries);
  }
  memmove(list->entries + index + 1, list->entries + index,
          (list->count - index) * sizeof *list->entries);
  list->entries[index] = *entry;
  list->count++;
}

void output_list_append(struct output_list *list,
                        const struct output_entry *entry) {
  insert(list, list->count, entry);
  output_list_changed(list, list->count - 1, 0);
}

void output_list_changed(struct output_list *list, size_t index, size_t size) {
  list->kept += list->entries[index].size - size;
}

static size_t find_gap(const struct output_list *list) {
  size_t index = 0;
  while (index < list->count && list->entries[index].kind != OUTPUT_GAP)
    index++;
  return index;
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

/* Counts an entry as left out, frees it and closes the list up. */
static void evict(struct output_list *list, size_t index) {
  struct output_entry *entry = &list->entries[index];
  if (entry->kind == OUTPUT_STREAM) {
    size_t lines = count_lines(output_entry_text(entry));
    bool marked = terminal_dropped_bytes(entry->terminal) > 0;
    count_cut(entry, &list->gone);
    count_stream(entry, entry->size, lines - (marked ? 1 : 0), &list->gone);
  } else {
    list->gone.value_bytes += entry->size;
  }
  list->gone.outputs++;
  list->kept -= entry->size;
  output_entry_free(entry);
  list->count--;
  memmove(entry, entry + 1, (list->count - index) * sizeof *entry);
}

/* Drops the oldest output behind the gap, else the one in front of it. Returns
 * false when nothing but the newest is left. */
static bool drop_one(struct output_list *list) {
  size_t gap = find_gap(list);
  if (!list->has_gap) {
    if (list->count < 2)
      return false;
    struct output_entry entry = {.kind = OUTPUT_GAP};
    gap = place_of_gap(list);
    insert(list, gap, &entry);
    list->has_gap = true;
  }
  size_t victim = gap + 2 < list->count ? gap + 1 : gap - 1;
  if (victim >= list->count)
    return false;
  evict(list, victim);
  gap = victim < gap ? gap - 1 : gap;
  struct output_entry *entry = &list->entries[gap];
  entry->gap++;
  json_free(entry->rendered);
  entry->rendered = NULL;
  return true;
}

static size_t largest_stream(const struct output_list *list) {
  size_t largest = list->count, size = SMALL_STREAM;
  for (size_t i = 0; i < list->count; i++) {
    const struct output_entry *entry = &list->entries[i];
    if (entry->kind == OUTPUT_STREAM && entry->size > size) {
      largest = i;
      size = entry->size;
    }
  }
  return largest;
}

/* Takes the excess from the largest stream. Returns false when all are small.
 */
static bool shrink_one(struct output_list *list) {
  size_t index = largest_stream(list);
  if (index == list->count)
    return false;
  struct output_entry *entry = &list->entries[index];
  size_t before = entry->size, excess = list->kept - list->limits.bytes;
  size_t most = before > SMALL_STREAM + excess ? before - excess : SMALL_STREAM;
  output_entry_shrink(entry, most);
  output_list_changed(list, index, before);
  return true;
}

void output_list_settle(struct output_list *list) {
  bool going = true;
  while (going && list->kept > list->limits.bytes)
    going = shrink_one(list) || drop_one(list);
  going = true;
  while (going && list->count > list->limits.outputs + (list->has_gap ? 1 : 0))
    going = drop_one(list);
}

void output_list_clear(struct output_list *list) {
  for (size_t i = 0; i < list->count; i++)
    count_cut(&list->entries[i], &list->gone);
  free_entries(list);
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
