/* Which cell stands where in a notebook file. Pure.
 *
 * In a file of our layout one cell follows the other with ",\n" between them,
 * so a cell ends two bytes before the next one begins. */
#ifndef CELLPOST_NOTEBOOK_WRITER_TABLE_H
#define CELLPOST_NOTEBOOK_WRITER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_ID_SIZE 68 /* 64 characters, a NUL, and a round size */
#define TABLE_NONE SIZE_MAX

/* As it stands in the index file, too. */
struct table_cell {
  uint64_t offset;
  char id[TABLE_ID_SIZE];
  uint32_t check; /* the index file's: over the rest and the cell's number */
};

struct table {
  struct table_cell *cells;
  size_t count, capacity;
  uint32_t *slots; /* open addressing; index + 1; made when first needed */
  size_t slot_count;
};

void table_free(struct table *table);

/* Appends a cell, whose id (checked before) must be new. */
void table_add(struct table *table, const char *id, uint64_t offset);

/* Index of the cell with that id, or TABLE_NONE. */
size_t table_find(struct table *table, const char *id);

/* Moves all cells behind `index` by `shift` bytes. */
void table_shift(struct table *table, size_t index, int64_t shift);

/* Makes room for `count` cells, which the caller then fills in and counts. */
struct table_cell *table_reserve(struct table *table, size_t count);

/* True when the offsets rise from `first` to below `end`, at least a cell's
 * smallest size apart, and the ids are valid: what was read may be used. */
bool table_is_sound(const struct table *table, uint64_t first, uint64_t end);

#endif
