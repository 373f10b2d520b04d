/* Notebook cells and metadata as bytes of nbformat 4.5. Pure.
 *
 * Everything is written as nbformat would write it inside "cells": indent 1,
 * ensure_ascii off, keys sorted inside a cell, multi-line strings split as
 * str.splitlines(True) splits (\n \r \r\n \v \f \x1c \x1d \x1e \x85 U+2028
 * U+2029) for source, stream text and the split mime types (text/...,
 * application/javascript, image/svg+xml); never for image/png, other
 * application/..., JSON types or traceback. */
#ifndef CELLPOST_NOTEBOOK_CELL_H
#define CELLPOST_NOTEBOOK_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/json/json.h"

struct code_cell {
  const char *id; /* 1..64 of [A-Za-z0-9_-], unique: the run id */
  const char *source;
  size_t source_length;
  int64_t execution_count;    /* negative: null */
  const struct json *outputs; /* array as from collector_outputs; NULL: [] */
  const struct json *tags;    /* array of strings or NULL */
  /* metadata.execution as JupyterLab records it (iopub.status.busy,
   * iopub.execute_input, iopub.status.idle, shell.execute_reply); wall-clock
   * microseconds, 0: absent */
  int64_t busy_at, input_at, idle_at, reply_at;
  /* metadata.cellpost {run, status, late}; strings may be NULL */
  const char *run;
  const char *status;
  bool late; /* outputs arrived after the run had ended */
};

/* Appends the cell's bytes as they stand in the file: first line indented by
 * two spaces, no comma, no newline at the end. */
int cell_write_code(const struct code_cell *cell, struct buf *out);
int cell_write_markdown(const char *id, const char *source, size_t length,
                        struct buf *out);
/* Any cell that came from elsewhere (adopted, changed late); must be valid. */
int cell_write_json(const struct json *cell, struct buf *out);

/* Appends everything in front of the first cell, up to and with "cells": [ .
 * Metadata stands first and cells last, so that a cell is appended at the end
 * of the file. */
int cell_write_metadata(const struct json *metadata, struct buf *out);

#endif
