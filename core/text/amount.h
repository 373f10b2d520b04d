/* Durations and sizes as people write them. Pure. */
#ifndef CELLPOST_TEXT_AMOUNT_H
#define CELLPOST_TEXT_AMOUNT_H

#include <stdint.h>

#include "core/base/buf.h"

/* "250 ms", "1.5 s", "2 s", "120 s" */
int amount_of_time(int64_t milliseconds, struct buf *out);

/* "512 MiB", "1.5 GiB" */
int amount_of_bytes(int64_t bytes, struct buf *out);

#endif
