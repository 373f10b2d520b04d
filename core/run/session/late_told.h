/* What an answer tells of output that came late: a bounded part of it, however
 * much a thread prints. All of it is kept with the run that it belongs to. Pure
 * but for memory. */
#ifndef CELLPOST_RUN_SESSION_LATE_TOLD_H
#define CELLPOST_RUN_SESSION_LATE_TOLD_H

#include <stddef.h>

#include "core/json/json.h"

/* The most that one answer tells: outputs, and bytes of them. */
#define LATE_TOLD_MOST 100
#define LATE_TOLD_BYTES ((size_t)64 << 10)

/* All zero is empty. */
struct late_told {
  struct json *list; /* or NULL */
  size_t bytes;      /* of the outputs in it */
  size_t left_out;   /* outputs that did not fit, or not whole */
  char run[37];      /* the last of those they belong to; "": to none */
};

/* Adds outputs of `run` ("": of no known one) while there is room. Of a stream
 * that does not fit, its beginning is taken; of anything else, nothing. */
void late_told_add(struct late_told *told, const char *run,
                   const struct json *outputs, size_t first);

/* The array for `late_outputs`, [{"run", "output"}], or NULL when there is
 * nothing; the caller's. When something was left out, the last entry says so
 * and where all of it is. Empty afterwards. */
struct json *late_told_take(struct late_told *told);

void late_told_free(struct late_told *told);

#endif
