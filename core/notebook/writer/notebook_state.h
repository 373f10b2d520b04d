/* An open notebook, as the files of the writer share it. Not for other rooms.
 *
 *   notebook.c        which bytes change
 *   notebook_update.c displays in many older cells
 *   notebook_open.c   a notebook that is there, or is none, or is damaged
 *   publish.c         how a new version gets on the disk
 *   index.c           .notebook.index, which spares the next process a scan
 *   scan.c            the bytes of a notebook: our layout, or any other
 *   table.c           which cell stands where
 *
 * A file of our layout:
 *   {\n "metadata": …,\n "nbformat": 4,\n "nbformat_minor": 5,\n "cells": [
 *   \n  {…\n  },\n  {…\n  }\n ]\n}\n       or, without a cell,   ]\n}\n */
#ifndef CELLPOST_NOTEBOOK_WRITER_NOTEBOOK_STATE_H
#define CELLPOST_NOTEBOOK_WRITER_NOTEBOOK_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fs.h"
#include "core/base/fs_later.h"
#include "core/notebook/writer/table.h"

#define NOTEBOOK_EMPTY_END "]\n}\n" /* behind the '[' of no cells */
#define NOTEBOOK_END "\n ]\n}\n"    /* behind the last cell */

/* Enough to tell that a file is still the one that was written. */
struct fingerprint {
  uint64_t inode; /* 0: no such file, or not to be trusted */
  uint64_t size;
  int64_t seconds, nanoseconds; /* mtime */
};

struct notebook {
  int directory;
  int index; /* of .notebook.index; -1: there is none */
  enum fs_sync sync;
  struct fs_later *later; /* NULL: nothing is synced later */
  struct stat key;        /* of the directory: names the notebook there */
  struct fingerprint published;
  struct fingerprint spare;
  /* With `later`, our own open descriptions of the two files, so that a file
   * that is being synced is no file that somebody else has open; or -1. */
  int published_file, spare_file;
  size_t spare_common; /* so many first bytes of the spare are as published */
  size_t preamble;     /* bytes up to and with the '[' of "cells" */
  struct table table;
  size_t section;      /* one more than the index of the last heading seen */
  size_t section_seen; /* so many cells were looked at for it */
  uint64_t sequence;   /* of the index as it was last read or written */
};

static inline bool fingerprint_equal(const struct fingerprint *a,
                                     const struct fingerprint *b) {
  return a->inode == b->inode && a->size == b->size &&
         a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* Where the cell at `index` ends. */
static inline size_t notebook_cell_end(const struct notebook *notebook,
                                       size_t index) {
  const struct table *table = &notebook->table;
  return index + 1 < table->count
             ? table->cells[index + 1].offset - strlen(",\n")
             : notebook->published.size - strlen(NOTEBOOK_END);
}

#endif
