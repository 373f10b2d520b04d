/* What a terminal shows after \r, \b and CSI K, kept line by line. Pure.
 *
 * ANSI colour sequences (CSI … m) are kept where they stand; \r returns to the
 * start of the line and what follows overwrites; \r\n is a line end; \b moves
 * back one character; CSI K erases to the end of the line. A progress bar that
 * rewrites its line for an hour stays one line, in memory too; so do nested
 * ones, which move the cursor up (CSI A … G, within the last 24 lines). Other
 * control sequences (CSI, OSC) have no effect and do not show.
 *
 * Text is UTF-8; a sequence may be cut anywhere between two writes. */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_H
#define CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_H

#include <stdint.h>

#include "core/base/buf.h"

struct terminal;
/* Keeps at most head_bytes from the start and tail_bytes from the end (cut at
 * line ends where near, never inside a character). */
struct terminal *terminal_new(size_t head_bytes, size_t tail_bytes);
void terminal_free(struct terminal *terminal);

void terminal_write(struct terminal *terminal, const char *text, size_t length);

/* Sets lower limits and drops what is beyond them. */
void terminal_shrink(struct terminal *terminal, size_t head_bytes,
                     size_t tail_bytes);

/* The view, with a marker on a line of its own where something was dropped:
 *   "[… 123456 bytes in 789 lines left out …]\n"
 * Nothing is dropped from a text that fits into head_bytes + tail_bytes. A line
 * of which a part was dropped counts. */
int terminal_render(const struct terminal *terminal, struct buf *out);

/* Bytes of the view without the marker (at most the two limits together),
 * bytes and lines dropped. */
size_t terminal_size(const struct terminal *terminal);
uint64_t terminal_dropped_bytes(const struct terminal *terminal);
uint64_t terminal_dropped_lines(const struct terminal *terminal);

#endif
