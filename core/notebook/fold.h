/* Lines that come again and again, as warnings do that a program prints for
 * every item: after FOLD_SHOWN times a line is left out, and a line in its
 * place says how often it still came. Pure.
 *
 * Only whole lines that are equal byte for byte are one; a line that comes at
 * most FOLD_FROM times stays, and so do blank ones. Nothing that differs is
 * ever left out. */
#ifndef CELLPOST_NOTEBOOK_FOLD_H
#define CELLPOST_NOTEBOOK_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

#define FOLD_SHOWN 3
#define FOLD_FROM 8

struct fold;
struct fold *fold_new(void);
void fold_done(struct fold **fold);

/* First all texts are counted, then each is written, in the same order. */
void fold_count(struct fold *fold, const char *text, size_t length);
/* True when some line came more than FOLD_FROM times. */
bool fold_is_needed(const struct fold *fold);
int fold_write(struct fold *fold, const char *text, size_t length,
               struct buf *out);

#endif
