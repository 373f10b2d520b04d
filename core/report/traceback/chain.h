/* A traceback taken apart: an exception, what led to it, their frames. Pure.
 *
 *   chain_python.c  reads IPython's text
 *   chain_probe.c   corrects it by what was seen in the kernel
 *   chain_settle.c  tells which frames are in the cell, and at which line of it
 *   chain_write.c   writes it for a model
 */
#ifndef CELLPOST_REPORT_TRACEBACK_CHAIN_H
#define CELLPOST_REPORT_TRACEBACK_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/json/json.h"
#include "core/report/traceback/code.h"
#include "core/report/traceback/frame.h"

/* How an exception of the chain led to the next one. */
enum chain_reason { CHAIN_LAST, CHAIN_CAUSE, CHAIN_CONTEXT };

struct chain_link {
  char *name;       /* class, or NULL when only `message` tells it */
  char *message;    /* "KeyError: 'b'", or NULL */
  struct buf notes; /* what add_note added */
  enum chain_reason reason;
  struct frame *frames;
  size_t count;
};

/* The first cause first, the exception itself last. */
struct chain {
  struct chain_link *links;
  size_t count;
};
void chain_free(struct chain *chain); /* also the cleanup function */

struct chain_link *chain_last(struct chain *chain); /* NULL when empty */

/* At its cap, the newest takes the place of the last one. */
struct chain_link *chain_add(struct chain *chain);
struct frame *chain_add_frame(struct chain_link *link);

/* Reads the elements of an IPython traceback. */
void chain_read_python(const struct json *traceback, struct chain *chain);

/* Corrects lines by the chain that the probe saw (hint.h; may be NULL) and adds
 * the frames that only the probe saw. */
void chain_apply_probe(struct chain *chain, const struct json *seen);

/* Decides `mine` for the cell of this code and execution count (below 1:
 * unknown) and turns the lines of those frames into the user's. */
void chain_settle(struct chain *chain, const struct code *code,
                  int64_t execution_count);

/* The deepest frame in a cell that has a line, NULL when there is none, and the
 * link that holds it. */
const struct frame *chain_deepest(const struct chain *chain,
                                  const struct chain_link **ret);

/* The whole traceback, frames with their source or a line each. `heading` is
 * the line of the exception itself. */
void chain_write(const struct chain *chain, const struct code *code,
                 bool with_source, const char *heading, struct buf *out);

/* "KeyError: 'b'" of one link, one line. */
void chain_write_name(const struct chain_link *link, struct buf *out);

#endif
