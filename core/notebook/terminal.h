/* What a terminal shows after \r, \b and CSI K, kept line by line. Pure.
 *
 * ANSI colour sequences (CSI … m) are kept where they stand; \r returns to the
 * start of the line and what follows overwrites; \r\n is a line end; \b moves
 * back one character; CSI K erases to the end of the line. A progress bar that
 * rewrites its line for an hour stays one line, in memory too. */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_H
#define CELLPOST_NOTEBOOK_TERMINAL_H

#include <stdint.h>

#include "core/base/buf.h"

struct terminal;
/* Keeps at most head_bytes from the start and tail_bytes from the end (cut at
 * line ends where near, never inside a character). */
struct terminal *terminal_new(size_t head_bytes, size_t tail_bytes);
void terminal_free(struct terminal *terminal);

void terminal_write(struct terminal *terminal, const char *text, size_t length);

/* The view, with a marker line where something was dropped:
 *   "\n[… 123456 bytes in 789 lines left out …]\n" */
int terminal_render(const struct terminal *terminal, struct buf *out);

/* Bytes now held (the size of the view), bytes and lines dropped. */
size_t terminal_size(const struct terminal *terminal);
uint64_t terminal_dropped_bytes(const struct terminal *terminal);
uint64_t terminal_dropped_lines(const struct terminal *terminal);

#endif
