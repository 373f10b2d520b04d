/* The colours and weights of text on a terminal (ECMA-48 SGR). Pure. */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_STYLE_H
#define CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* All zero is plain text. A colour is 0 (the default) or one of three kinds in
 * the top byte: 1 with an SGR code (30..37, 40..47, 90..97, 100..107), 2 with a
 * palette index, 3 with 24 bits of red, green and blue. */
struct terminal_style {
  uint32_t foreground;
  uint32_t background;
  uint32_t flags; /* bit n: SGR n (1 bold … 9 crossed out) is on */
};

bool terminal_style_equal(const struct terminal_style *a,
                          const struct terminal_style *b);

/* Applies the parameters of one "CSI … m", the bytes between '[' and 'm'. */
void terminal_style_apply(struct terminal_style *style, const char *parameters,
                          size_t length);

/* Appends the shortest sequence that turns `from` into `to` (nothing when they
 * are equal). */
int terminal_style_write(const struct terminal_style *from,
                         const struct terminal_style *to, struct buf *out);

#endif
