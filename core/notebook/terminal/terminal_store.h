/* Text of which only the head and the tail are kept. Pure.
 *
 * As long as all that was appended fits into head_limit + tail_limit bytes
 * nothing is dropped. Cuts stand at line ends where one is near, and never
 * inside a character or an ANSI sequence. */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_STORE_H
#define CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

struct terminal_store {
  size_t head_limit;
  size_t limit; /* head and tail together */
  struct buf head;
  bool head_closed; /* all that comes now belongs to the tail */
  struct buf tail;
  size_t tail_start; /* what stands before it in `tail` is dropped */
  uint64_t dropped_bytes;
  uint64_t dropped_newlines;
  bool dropped_part_of_line; /* the last dropped byte is no line end */
};

void terminal_store_init(struct terminal_store *store, size_t head_limit,
                         size_t tail_limit);
void terminal_store_free(struct terminal_store *store);

/* Appends; call terminal_store_trim afterwards. */
void terminal_store_append(struct terminal_store *store, const char *text,
                           size_t length);

/* Drops from the start of the tail until the whole and `reserved` further bytes
 * fit into the limit, as far as the tail reaches. */
void terminal_store_trim(struct terminal_store *store, size_t reserved);

/* Sets lower limits; call terminal_store_trim afterwards. */
void terminal_store_shrink(struct terminal_store *store, size_t head_limit,
                           size_t tail_limit);

size_t terminal_store_size(const struct terminal_store *store);

/* Lines of which at least one byte was dropped. */
uint64_t terminal_store_dropped_lines(const struct terminal_store *store);

/* Appends head, marker line and tail. */
int terminal_store_write(const struct terminal_store *store, struct buf *out);

/* Appends the marker line alone, on a line of its own. */
int terminal_store_marker(uint64_t bytes, uint64_t lines, struct buf *out);

/* The greatest cut <= at that splits neither a UTF-8 character nor an ANSI
 * sequence, and the smallest such cut >= at. */
size_t terminal_store_cut_before(const char *text, size_t length, size_t at);
size_t terminal_store_cut_after(const char *text, size_t length, size_t at);

#endif
