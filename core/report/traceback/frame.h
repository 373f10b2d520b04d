/* One frame of a traceback: where it is and what stands there. Pure.
 *
 * All strings are valid UTF-8 without terminal control, owned by the frame. */
#ifndef CELLPOST_REPORT_TRACEBACK_FRAME_H
#define CELLPOST_REPORT_TRACEBACK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/report/traceback/code.h"
#include "core/report/traceback/cursor.h"

enum frame_kind {
  FRAME_CELL,    /* code of a cell */
  FRAME_MAGIC,   /* what a magic like %%time compiled, numbered by itself */
  FRAME_FILE,    /* a file that is the user's own, or a string */
  FRAME_LIBRARY, /* installed code */
  FRAME_SKIPPED, /* the kernel left out frames of a recursion: see `function` */
};

struct frame_line {
  int64_t number;
  char *text;
};

struct frame {
  enum frame_kind kind;
  int64_t cell;   /* execution count; 0: the traceback does not tell */
  int64_t line;   /* 0: the traceback does not tell */
  char *file;     /* as the traceback says it; NULL for a cell with a number */
  char *function; /* without arguments; NULL at the top level */
  char *text;     /* the source line itself, or NULL */
  struct frame_line *lines; /* the neighbours that were shown, with it */
  size_t line_count;
  size_t caret; /* SyntaxError: 1 + offset of the caret in `text`; 0: none */
  bool mine;    /* it is in the cell that was run now; line is the user's */
};

/* Releases what it holds and makes it an empty FRAME_FILE. */
void frame_clear(struct frame *frame);

void frame_add_line(struct frame *frame, int64_t number, const char *text,
                    size_t length);
void frame_drop_lines(struct frame *frame);

/* True for code of the user's cells. */
static inline bool frame_in_cell(const struct frame *frame) {
  return frame->kind == FRAME_CELL || frame->kind == FRAME_MAGIC;
}

/* Reads the first line of a frame (frame_heading.c): kind, cell, line, file and
 * function. False, and an empty frame, when it is something else. */
bool frame_read_heading(struct cursor line, struct frame *frame);

/* Writes the source around the place (frame_source.c): from the user's code
 * when the frame is `mine` and says the same, else what the traceback showed.
 *      1 a = 1
 *   -> 2 b = a / 0 */
void frame_write_source(const struct frame *frame, const struct code *code,
                        unsigned indent, struct buf *out);

/* 1-based column of a SyntaxError in the user's own line; 0 when unknown. */
int64_t frame_column(const struct frame *frame, const struct code *code);

#endif
