#include "core/report/html/html_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

/* Longer cells do not widen their column. */
#define MOST_WIDTH 48
#define GAP 2

void html_table_free(struct html_table *table) {
  buf_free(&table->text);
  free(table->cells);
}

void html_table_start_row(struct html_table *table) {
  html_table_close(table);
  table->row++;
  table->column = 0;
}

void html_table_open(struct html_table *table, size_t columns, size_t rows) {
  html_table_close(table);
  if (table->row == 0)
    table->row = 1;
  size_t column = table->column;
  /* What a row has beyond the last column goes there. */
  if (column >= HTML_TABLE_COLUMNS)
    column = HTML_TABLE_COLUMNS - 1;
  while (column < HTML_TABLE_COLUMNS - 1 && table->busy[column] >= table->row)
    column++;
  if (columns > HTML_TABLE_COLUMNS - column)
    columns = HTML_TABLE_COLUMNS - column;
  for (size_t i = 0; i < columns; i++)
    table->busy[column + i] = table->row + (uint32_t)rows - 1;
  table->column = column + columns;
  if ((table->count & (table->count - 1)) == 0)
    table->cells =
        mem_grow(table->cells, 2 * table->count + 1, sizeof *table->cells);
  table->cells[table->count++] =
      (struct html_cell){.offset = (uint32_t)table->text.length,
                         .row = table->row,
                         .column = (uint16_t)column,
                         .columns = (uint16_t)columns};
  table->is_open = true;
}

void html_table_close(struct html_table *table) {
  if (!table->is_open)
    return;
  table->is_open = false;
  struct html_cell *cell = &table->cells[table->count - 1];
  size_t end = table->text.length;
  while (end > cell->offset && strchr(" \n", table->text.data[end - 1]))
    end--;
  cell->length = (uint32_t)(end - cell->offset);
  table->is_layout |=
      cell->length > 0 &&
      memchr(table->text.data + cell->offset, '\n', cell->length) != NULL;
}

static const char *text_of(const struct html_table *table,
                           const struct html_cell *cell) {
  return table->text.data + cell->offset;
}

/* Where each column starts; empty ones take no room. */
static void place_columns(const struct html_table *table,
                          size_t starts[HTML_TABLE_COLUMNS]) {
  size_t widths[HTML_TABLE_COLUMNS] = {0};
  for (size_t i = 0; i < table->count; i++) {
    const struct html_cell *cell = &table->cells[i];
    size_t width = cell->columns == 1 && cell->length > 0
                       ? utf8_count(text_of(table, cell), cell->length)
                       : 0;
    if (width > MOST_WIDTH)
      width = MOST_WIDTH;
    if (width > widths[cell->column])
      widths[cell->column] = width;
  }
  size_t start = 0;
  for (size_t i = 0; i < HTML_TABLE_COLUMNS; i++) {
    starts[i] = start;
    start += widths[i] > 0 ? widths[i] + GAP : 0;
  }
}

static void write_blocks(const struct html_table *table, struct buf *out) {
  for (size_t i = 0; i < table->count && !out->overflowed; i++)
    if (table->cells[i].length > 0) {
      buf_append(out, text_of(table, &table->cells[i]), table->cells[i].length);
      buf_byte(out, '\n');
    }
}

void html_table_write(const struct html_table *table, struct buf *out) {
  if (table->is_layout) {
    write_blocks(table, out);
    return;
  }
  size_t starts[HTML_TABLE_COLUMNS];
  place_columns(table, starts);
  for (size_t i = 0; i < table->count && !out->overflowed;) {
    uint32_t row = table->cells[i].row;
    size_t at = 0;
    for (; i < table->count && table->cells[i].row == row; i++) {
      const struct html_cell *cell = &table->cells[i];
      if (cell->length == 0)
        continue;
      size_t start = starts[cell->column], gap = at > 0 ? GAP : 0;
      if (start > at + gap)
        gap = start - at;
      buf_format(out, "%*s", (int)gap, "");
      buf_append(out, text_of(table, cell), cell->length);
      at += gap + utf8_count(text_of(table, cell), cell->length);
    }
    if (at > 0)
      buf_byte(out, '\n');
  }
}
