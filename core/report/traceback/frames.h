/* A traceback taken apart. Pure. Internal to core/report.
 *
 *   traceback_heading.c reads the place of one frame
 *   traceback_python.c  reads IPython's text into a struct chain
 *   traceback_cells.c   tells which frames are in the user's cells, and where
 *   traceback_render.c  writes it for a model
 *
 * All strings are valid UTF-8 without terminal control, owned by the chain. */
#ifndef CELLPOST_REPORT_TRACEBACK_FRAMES_H
#define CELLPOST_REPORT_TRACEBACK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/report/traceback/cursor.h"
#include "core/report/traceback/traceback.h"

enum frame_kind {
  FRAME_CELL,    /* code of a cell */
  FRAME_MAGIC,   /* the body of a %%time or %%timeit cell, numbered by itself */
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

/* How an exception of the chain led to the next one. */
enum link_reason { LINK_LAST, LINK_CAUSE, LINK_CONTEXT };

struct link {
  char *name;    /* class, or NULL when only `message` tells it */
  char *message; /* "KeyError: 'b'", or NULL */
  char *notes;   /* what add_note added, or NULL */
  enum link_reason reason;
  struct frame *frames;
  size_t count;
};

/* The chain, first cause first; the exception itself last. */
struct chain {
  struct link *links;
  size_t count;
};
void chain_free(struct chain *chain); /* also the cleanup function */

struct link *chain_last(struct chain *chain); /* NULL when empty */
struct link *chain_add(struct chain *chain);
/* The newest frame takes the place of the last one beyond the cap. */
struct frame *link_add_frame(struct link *link);
void frame_add_line(struct frame *frame, int64_t number, const char *text,
                    size_t length);
void frame_drop_lines(struct frame *frame);

/* True for frames of the user's cells. */
static inline bool frame_in_cell(const struct frame *frame) {
  return frame->kind == FRAME_CELL || frame->kind == FRAME_MAGIC;
}

/* Reads the first line of a frame: kind, cell, line, file and function. False
 * (and an empty frame) when it is something else. */
bool frame_read_heading(struct cursor line, struct frame *frame);

/* Reads the elements of an IPython traceback. */
void chain_read_python(const struct json *traceback, struct chain *chain);

/* Decides `mine`, turns the lines of those frames into the user's, corrects
 * lines by the probe (hint.h; may be NULL) and adds the frames that only the
 * probe saw. */
void chain_settle(struct chain *chain, const struct traceback_source *source);

/* The deepest frame in a cell that has a line, NULL when there is none, and the
 * link that holds it. */
const struct frame *chain_deepest(const struct chain *chain,
                                  const struct link **ret);

/* The source around a frame: from the user's code when it is `mine` and says
 * the same, else what the traceback showed. */
int frame_write_source(const struct frame *frame, const char *code,
                       size_t code_length, unsigned indent, struct buf *out);

/* 1-based column of a SyntaxError in the user's own line; 0 when unknown. */
int64_t frame_column(const struct frame *frame, const char *code,
                     size_t code_length);

/* Line `number` (1-based) of a text, without its end; NULL when there is none.
 */
const char *code_line(const char *code, size_t code_length, int64_t number,
                      size_t *length);

/* The whole traceback in one of the two long styles. `heading` is the line of
 * the exception itself (ename and evalue). */
int chain_write(const struct chain *chain,
                const struct traceback_source *source, const char *heading,
                struct buf *out);

/* "KeyError: 'b'" of one link, one line. */
int link_write_name(const struct link *link, struct buf *out);

/* What the text of a kernel other than IPython says about the place: IRkernel's
 * parse errors and call stack. False when nothing. */
bool traceback_place_of_r(const struct traceback_source *source, int64_t *line,
                          int64_t *column);

#endif
