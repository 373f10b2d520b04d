/* Markdown in a task's notebook: headings of sections, and what agents write
 * between their cells. */
#ifndef CELLPOST_RUN_CELLS_H
#define CELLPOST_RUN_CELLS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/notebook/writer/notebook.h"
#include "core/run/engine.h"

/* Appends the heading of the section unless it is the notebook's last heading:
 * a section that is taken up again gets a heading again. */
int cells_add_section(struct notebook *notebook, const char *section,
                      struct err *err);

/* Waits for the task's turn and appends a markdown cell, so that it stands
 * between the runs that were asked for before and after it; an event records
 * it. Makes the task when it is missing (auto_create). *ret: {"task", "cell",
 * "notebook", "notes"}. ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_BUSY (queue full),
 * ERR_NO_SPACE and ERR_IO (nothing was appended). */
int cells_add_markdown(struct engine *engine, const char *task,
                       const char *source, size_t length, const char *by,
                       struct json **ret, struct err *err);

/* What each section gave: {"sections": [{"section": name|null, "runs": [{run,
 * status, execution_count, cell}], "text", "images"}], "next": id|null}, the
 * sections in the order in which they were begun, of the last `limit` runs
 * older than run `before` (NULL: from the newest on). Silent runs are left out.
 * `text` is what the runs printed and returned, at most `text_limit`
 * characters. */
int cells_list_sections(struct engine *engine, const char *task,
                        const char *before, int limit, int64_t text_limit,
                        struct json **ret, struct err *err);

#endif
