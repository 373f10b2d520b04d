/* What each section of a task gave, from the registry. */
#ifndef CELLPOST_RUN_HISTORY_SECTIONS_H
#define CELLPOST_RUN_HISTORY_SECTIONS_H

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"

/* {"sections": [{"section": name|null, "runs": [{run,
 * status, execution_count, cell}], "text", "images"}], "next": id|null}, the
 * sections in the order in which they were begun, of the last `limit` runs
 * older than run `before` (NULL: from the newest on). Silent runs are left out.
 * `text` is what the runs printed and returned, at most `text_limit`
 * characters. */
int sections_list(struct engine *engine, const char *task, const char *before,
                  int limit, int64_t text_limit, struct json **ret,
                  struct err *err);

#endif
