/* A kernel's log that can never grow beyond a cap: two files, log.0 and log.1,
 * written in turn.
 *
 * The file being written is always shorter than LOG_RING_FILE; when it reaches
 * that, the other one is emptied and written next. So at least the last
 * LOG_RING_FILE bytes are there, at most twice as many, and a reader can tell
 * the order from the sizes alone. The writer allocates nothing and never waits
 * for a reader. */
#ifndef CELLPOST_PROCESS_LOG_RING_H
#define CELLPOST_PROCESS_LOG_RING_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define LOG_RING_FILE ((size_t)64 << 10)

struct log_ring {
  int files[2];
  unsigned current;
  size_t used; /* bytes in the current file */
};

/* Makes both files (0600) in `directory`; they must not exist. */
int log_ring_open(int directory, struct log_ring *ret, struct err *err);

/* A log that cannot be written is lost silently: the kernel must go on. */
void log_ring_write(struct log_ring *ring, const char *bytes, size_t length);

void log_ring_close(struct log_ring *ring);

/* Appends what the log in `directory` holds, oldest first. Missing files are
 * empty. -1 only when `out` is full. */
int log_ring_read(int directory, struct buf *out);

/* The end of the log as text for people: valid UTF-8, at most size - 1 bytes,
 * no NULs, cut at a character. */
void log_ring_tail(int directory, char *text, size_t size);

#endif
