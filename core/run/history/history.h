/* What happened, for those who look back: lists of runs, one run's request,
 * figures by the hour. */
#ifndef CELLPOST_RUN_HISTORY_HISTORY_H
#define CELLPOST_RUN_HISTORY_HISTORY_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"
#include "core/store/run_search.h"

/* {"runs": [{run, task, number, status, queued, started, ended, wall_ms, code
 * (first 200 characters), execution_count, section, caller, generation, error:
 * "Name: text"|null, uri}], "next": id|null} newest first. ERR_NOT_FOUND: no
 * task filter->task. */
int history_list_runs(struct engine *engine, const struct run_filter *filter,
                      int limit, struct json **ret, struct err *err);

/* What run `id` was asked to do, and when: {"run", "task", "number", "code",
 * "section", "tags", "silent", "caller", "address", "request_id", "timeout",
 * "cell", "queued", "started", "ended", "stop_asked"}. */
int history_describe_request(struct engine *engine, const char *id,
                             struct json **ret, struct err *err);

/* The answer of any run: while it is queued or running, the same object with
 * its present status, queue position and partial outputs. */
int history_describe_run(struct engine *engine, const char *id,
                         struct json **answer, struct err *err);

/* {"hours": [{at, runs, failed, median_ms, p95_ms}]}, the hours that have runs,
 * oldest first. */
int history_hours(struct engine *engine, const struct run_filter *filter,
                  struct json **ret, struct err *err);

/* One line of names, and a page of at most `limit` runs, as CSV (RFC 4180).
 * Texts that a spreadsheet would take for a formula get an apostrophe in front.
 * *next receives the id to go on before, "" at the end. */
void history_csv_head(struct buf *out);
int history_csv_page(struct engine *engine, const struct run_filter *filter,
                     int limit, struct buf *out, char next[37],
                     struct err *err);

#endif
