/* The bytes of a notebook file: of our layout, or any other. Pure, but for the
 * random ids of cells that have none. */
#ifndef CELLPOST_NOTEBOOK_WRITER_SCAN_H
#define CELLPOST_NOTEBOOK_WRITER_SCAN_H

#include "core/base/buf.h"
#include "core/notebook/writer/table.h"

struct scan {
  struct buf bytes; /* a whole file of our layout, to be written; empty when
                     * the one that was scanned is fine as it is */
  size_t preamble;
  struct table table;
  bool lossy; /* something of the old file is not in the new one */
};

/* Looks at the bytes of a file. Returns false when they are no notebook. */
bool scan_notebook(const char *text, size_t length, struct scan *ret);
void scan_free(struct scan *scan);

/* A notebook without metadata and cells. */
void scan_empty(struct scan *ret);

#endif
