/* What one process counts about its requests. Any thread may count. */
#ifndef CELLPOST_FCGI_HTTP_METRICS_H
#define CELLPOST_FCGI_HTTP_METRICS_H

#include <stdatomic.h>

#include "core/base/buf.h"
#include "fcgi/http/run_places.h"

struct metrics {
  atomic_ulong answered[6]; /* by the first digit of the status */
  atomic_ulong runs;        /* execute requests that were accepted */
  atomic_long in_progress;  /* requests being served now */
  long threads;
  struct run_places places;      /* of threads, for runs */
  atomic_long watchers;          /* of the live feed, now */
  atomic_ulong watchers_dropped; /* because they did not read */
};

/* Before requests, or to correct the number of threads. */
void metrics_open(struct metrics *metrics, long threads);

/* Appends the Prometheus text format (version 0.0.4). */
void metrics_write(const struct metrics *metrics, struct buf *out);

#endif
