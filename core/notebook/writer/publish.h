/* One version of the notebook in the place of the last one. Private to the
 * writer.
 *
 * The spare is the version before the published one. When nobody has it open
 * (a write lease tells, fcntl(2) F_SETLEASE), only what it lacks is written,
 * and both change places by renameat2(RENAME_EXCHANGE). Else a new file is
 * written whole. A kill at any point leaves the published file untouched or
 * exchanged; what the spare then is, the index tells or nobody asks. */
#ifndef CELLPOST_NOTEBOOK_WRITER_PUBLISH_H
#define CELLPOST_NOTEBOOK_WRITER_PUBLISH_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/notebook/writer/notebook_state.h"

/* The next version: the published bytes up to `from`, then `bytes`, then the
 * published ones from `resume` on. */
struct change {
  size_t from;
  const char *bytes;
  size_t length;
  size_t resume;
};

/* Puts the next version in place; the caller then brings `preamble` and `table`
 * up to date and calls index_save. Returns 1, with *err filled in, when it is
 * in place but a loss of power may undo that. ERR_CONFLICT: another process
 * wrote. */
int publish_version(struct notebook *notebook, const struct change *change,
                    struct err *err);

/* Another process may have written since; for notebook_is_stale. */
bool publish_is_stale(const struct notebook *notebook);

/* Removes the spare; who still reads it keeps it. */
void publish_drop_spare(struct notebook *notebook);

/* Appends a range of the published file. */
int publish_read(const struct notebook *notebook, size_t from, size_t length,
                 struct buf *out, struct err *err);

/* True when nobody else has the file open; holds until it is closed. */
bool publish_take_lease(int file);

struct fingerprint publish_fingerprint(const struct stat *status);

/* See notebook_counters. */
void publish_counts(uint64_t *appended, uint64_t *copied, uint64_t *bytes);

#endif
