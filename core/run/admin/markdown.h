/* Markdown cells that agents write between the runs of a task. */
#ifndef CELLPOST_RUN_ADMIN_MARKDOWN_H
#define CELLPOST_RUN_ADMIN_MARKDOWN_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"

/* Waits for the task's turn and appends a markdown cell, so that it is
 * between the runs that were asked for before and after it; an event records
 * it. Makes the task when it is missing (auto_create). *ret: {"task", "cell",
 * "notebook", "notes"}. ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_BUSY (queue full),
 * ERR_NO_SPACE and ERR_IO (nothing was appended). */
int markdown_add(struct engine *engine, const char *task, const char *source,
                 size_t length, const char *by, struct json **ret,
                 struct err *err);

#endif
