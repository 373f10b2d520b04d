#include "fcgi/http/metrics.h"

#include <stddef.h>

#include "core/base/mem.h"

void metrics_open(struct metrics *metrics, long threads) {
  metrics->threads = threads;
  run_places_open(&metrics->places, threads);
}

static void write_answered(const struct metrics *metrics, struct buf *out) {
  buf_text(out, "# HELP cellpost_requests_total Requests answered, by the "
                "class of the status.\n"
                "# TYPE cellpost_requests_total counter\n");
  for (size_t class = 2; class < COUNT_OF(metrics->answered); class ++)
    buf_format(out, "cellpost_requests_total{status=\"%zuxx\"} %lu\n", class,
               atomic_load(&metrics->answered[class]));
}

void metrics_write(const struct metrics *metrics, struct buf *out) {
  write_answered(metrics, out);
  buf_format(
      out,
      "# HELP cellpost_runs_total Execute requests accepted.\n"
      "# TYPE cellpost_runs_total counter\n"
      "cellpost_runs_total %lu\n"
      "# HELP cellpost_requests_in_progress Requests being served.\n"
      "# TYPE cellpost_requests_in_progress gauge\n"
      "cellpost_requests_in_progress %ld\n"
      "# HELP cellpost_threads Request threads.\n"
      "# TYPE cellpost_threads gauge\n"
      "cellpost_threads %ld\n"
      "# HELP cellpost_run_places Of these, those that runs may hold.\n"
      "# TYPE cellpost_run_places gauge\n"
      "cellpost_run_places %ld\n"
      "# HELP cellpost_run_places_taken Of these, those that hold one.\n"
      "# TYPE cellpost_run_places_taken gauge\n"
      "cellpost_run_places_taken %ld\n"
      "# HELP cellpost_watchers Watchers of the live feed.\n"
      "# TYPE cellpost_watchers gauge\n"
      "cellpost_watchers %ld\n"
      "# HELP cellpost_watchers_dropped_total Watchers that did not read "
      "and were dropped.\n"
      "# TYPE cellpost_watchers_dropped_total counter\n"
      "cellpost_watchers_dropped_total %lu\n",
      atomic_load(&metrics->runs), atomic_load(&metrics->in_progress),
      metrics->threads, atomic_load(&metrics->places.most),
      atomic_load(&metrics->places.taken), atomic_load(&metrics->watchers),
      atomic_load(&metrics->watchers_dropped));
}
