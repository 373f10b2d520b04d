/* One line of a terminal that can still be written to. Pure.
 *
 * A line that is only ever appended to keeps its bytes as they came, colours
 * included. The first write into its middle turns it into cells, one per code
 * point (also for wide and combining characters: good for redrawn lines, whose
 * characters meet their own kind). */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_LINE_H
#define CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/notebook/terminal/terminal_style.h"

struct terminal_cell {
  uint32_t character;
  struct terminal_style style;
};

struct terminal_line {
  struct terminal_style start; /* in force where the line begins */
  struct buf text;             /* while !in_cells */
  bool in_cells;
  struct terminal_cell *cells;
  size_t count, capacity;
};

void terminal_line_init(struct terminal_line *line,
                        const struct terminal_style *start);
void terminal_line_free(struct terminal_line *line);

/* Empties it, keeping its memory, back to plain bytes. */
void terminal_line_reset(struct terminal_line *line,
                         const struct terminal_style *start);

/* Turns plain bytes into cells; a line in cells stays as it is. */
void terminal_line_to_cells(struct terminal_line *line);

/* The following need a line in cells. Writes UTF-8 text from `column` on, over
 * what is there, with blanks up to it; returns the column behind it. */
size_t terminal_line_put(struct terminal_line *line, size_t column,
                         const struct terminal_style *style, const char *text,
                         size_t length);
/* Erases from `from` up to, not including, `to`; at the end it shortens. */
void terminal_line_erase(struct terminal_line *line, size_t from, size_t to);

/* Appends the line as it looks; `end` is the style that must be in force behind
 * it (a line of plain bytes ends in its own). */
int terminal_line_write(const struct terminal_line *line,
                        const struct terminal_style *end, struct buf *out);

#endif
