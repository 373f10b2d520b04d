/* How much of the host a token may take. Pure. */
#ifndef CELLPOST_ACCESS_QUOTA_H
#define CELLPOST_ACCESS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/json/json.h"

/* 0: no bound. */
struct quota {
  int64_t runs;            /* queued or running at once */
  int64_t kernels;         /* alive at once, in tasks of its tenant */
  int64_t runs_per_minute; /* as many at once, or evenly */
  int64_t file_bytes;      /* of all files/ of its tenant's tasks together */
};

/* The object that stands in the database: {"runs": 2, …}. What it does not
 * name, and what is no whole number above 0, is not bounded. */
void quota_read(const struct json *limits, struct quota *ret);

/* Sets one by its name there; "0" takes it away. ERR_INVALID: no such name, or
 * no whole number. */
int quota_set(struct json *limits, const char *name, const char *value,
              struct err *err);

/* An allowance that fills up evenly: `each` units a minute, of which as many
 * may be saved up. Zeroed it is full. */
struct quota_rate {
  int64_t free_at; /* nanoseconds: when the last unit taken has come back */
};

/* Takes one at the time `now` (monotonic, not 0); false: there is none, and
 * *wait_ns is how long until there is. */
bool quota_rate_take(struct quota_rate *rate, int64_t each, int64_t now,
                     int64_t *wait_ns);

#endif
