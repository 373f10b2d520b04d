#include "core/notebook/writer/table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/cell_clean.h"

void table_free(struct table *table) {
  free(table->cells);
  free(table->slots);
  *table = (struct table){0};
}

struct table_cell *table_reserve(struct table *table, size_t count) {
  if (count > table->capacity) {
    size_t doubled = table->capacity * 2;
    table->capacity = doubled > count ? doubled : count;
    table->cells =
        mem_grow(table->cells, table->capacity, sizeof *table->cells);
  }
  return table->cells;
}

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *id) {
  uint64_t value = UINT64_C(14695981039346656037);
  for (; *id != '\0'; id++)
    value = (value ^ (unsigned char)*id) * UINT64_C(1099511628211);
  return value ^ value >> 32;
}

/* The slot that holds the id, or the free one where it belongs. */
static size_t slot_of(const struct table *table, const char *id) {
  size_t slot = hash(id) & (table->slot_count - 1);
  while (table->slots[slot] != 0 &&
         strcmp(table->cells[table->slots[slot] - 1].id, id) != 0)
    slot = (slot + 1) & (table->slot_count - 1);
  return slot;
}

/* Keeps the slots at most half full. */
static void make_slots(struct table *table) {
  if (table->slot_count > 2 * table->count)
    return;
  size_t slot_count = 64;
  while (slot_count < 4 * table->count)
    slot_count *= 2;
  free(table->slots);
  table->slots = mem_array(slot_count, sizeof *table->slots);
  table->slot_count = slot_count;
  for (size_t i = 0; i < table->count; i++)
    table->slots[slot_of(table, table->cells[i].id)] = (uint32_t)(i + 1);
}

void table_add(struct table *table, const char *id, uint64_t offset) {
  struct table_cell *cell =
      &table_reserve(table, table->count + 1)[table->count];
  memset(cell, 0, sizeof *cell);
  cell->offset = offset;
  memcpy(cell->id, id, strlen(id));
  table->count++;
  if (table->slots == NULL)
    return;
  make_slots(table);
  table->slots[slot_of(table, id)] = (uint32_t)table->count;
}

size_t table_find(struct table *table, const char *id) {
  make_slots(table);
  uint32_t found = table->slots[slot_of(table, id)];
  return found == 0 ? TABLE_NONE : found - 1;
}

void table_shift(struct table *table, size_t index, int64_t shift) {
  for (size_t i = index + 1; i < table->count; i++)
    table->cells[i].offset += (uint64_t)shift;
}

bool table_is_sound(const struct table *table, uint64_t first, uint64_t end) {
  enum { SMALLEST = 32 };
  uint64_t least = first;
  for (size_t i = 0; i < table->count; i++) {
    const struct table_cell *cell = &table->cells[i];
    if (cell->offset < least || cell->offset >= end ||
        memchr(cell->id, '\0', TABLE_ID_SIZE) == NULL || !cell_is_id(cell->id))
      return false;
    least = cell->offset + SMALLEST;
  }
  return table->count == 0 || least <= end;
}
