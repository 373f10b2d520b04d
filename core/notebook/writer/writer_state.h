/* What the files of the writer share. Not for other rooms.
 *
 *   writer.c          the interface: which bytes change
 *   writer_publish.c  how a new version gets on the disk
 *   writer_probe.c    whether a filesystem has what that needs
 *   writer_index.c    .notebook.index: what spares the next process a scan
 *   writer_open.c     a notebook that is there, or is none, or is damaged
 *   writer_scan.c     the bytes of a notebook: our layout, or any other
 *   writer_table.c    which cell stands where
 *
 * A file of our layout:
 *   {\n "metadata": …,\n "nbformat": 4,\n "nbformat_minor": 5,\n "cells": [
 *   \n  {…\n  },\n  {…\n  }\n ]\n}\n       or, without a cell,   ]\n}\n */
#ifndef CELLPOST_NOTEBOOK_WRITER_WRITER_STATE_H
#define CELLPOST_NOTEBOOK_WRITER_WRITER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/fs_later.h"
#include "core/notebook/writer/writer.h"
#include "core/notebook/writer/writer_table.h"

#define NOTEBOOK_SPARE ".notebook.spare"
#define NOTEBOOK_INDEX ".notebook.index"

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

/* The next version: the published bytes up to `from`, then `bytes`, then the
 * published ones from `resume` on. */
struct change {
  size_t from;
  const char *bytes;
  size_t length;
  size_t resume;
};

/* writer_publish.c: puts the next version in place; the caller then brings
 * `preamble` and `table` up to date and calls index_save. Returns 1, with *err
 * filled in, when it is in place but a loss of power may undo that.
 * ERR_CONFLICT: another process wrote. */
int publish(struct notebook *notebook, const struct change *change,
            struct err *err);
/* Removes the spare; who still reads it keeps it. */
void spare_drop(struct notebook *notebook);
/* Appends a range of the published file. */
int published_read(const struct notebook *notebook, size_t from, size_t length,
                   struct buf *out, struct err *err);
/* True when nobody else has the file open; holds until it is closed. */
bool take_lease(int file);
struct fingerprint fingerprint_of(const struct stat *status);
bool fingerprint_equal(const struct fingerprint *a,
                       const struct fingerprint *b);

/* writer_index.c: all fail silently: without an index the next process scans.
 * index_load fills the state when the index belongs to `published`. */
void index_open(struct notebook *notebook);
bool index_load(struct notebook *notebook);
/* Saves the cells from `first` on and then what stands in front of them. */
void index_save(struct notebook *notebook, size_t first);
/* Saves that no more of the spare than this can be relied on, before it is
 * written to. */
void index_distrust_spare(struct notebook *notebook, size_t common);
/* The sequence number on disk; 0 when there is none. */
uint64_t index_sequence(const struct notebook *notebook);

/* writer_open.c */
int notebook_load(struct notebook *notebook, char **set_aside, struct err *err);

/* writer_scan.c */
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
