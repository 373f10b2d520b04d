/* A table of HTML, gathered cell by cell and written in aligned columns. Pure.
 *
 * A table of which a cell has more than one line is there for the layout of a
 * page: its cells follow one another on lines of their own. */
#ifndef CELLPOST_REPORT_HTML_HTML_TABLE_H
#define CELLPOST_REPORT_HTML_HTML_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

#define HTML_TABLE_COLUMNS 256

struct html_cell {
  uint32_t offset, length; /* in the table's text */
  uint32_t row;
  uint16_t column, columns;
};

struct html_table {
  struct buf text; /* of all cells */
  struct html_cell *cells;
  size_t count;
  uint32_t row;   /* of the next cell; the first one is 1 */
  bool is_open;   /* a cell is being written */
  bool is_layout; /* some cell has several lines */
  size_t column;  /* where to look for the next free column */
  uint32_t busy[HTML_TABLE_COLUMNS]; /* rows up to this one are taken */
};

void html_table_free(struct html_table *table);

void html_table_start_row(struct html_table *table);

/* Opens a cell, whose text is what is appended to table->text until it is
 * closed; closes the one before. */
void html_table_open(struct html_table *table, size_t columns, size_t rows);
void html_table_close(struct html_table *table);

/* Appends whole lines. */
void html_table_write(const struct html_table *table, struct buf *out);

#endif
