/* The part of verify that looks at one task's notebook. Private to verify. */
#ifndef CELLPOST_UPKEEP_VERIFY_NOTEBOOK_H
#define CELLPOST_UPKEEP_VERIFY_NOTEBOOK_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/task.h"

/* 0, 1 and *err, -1 and *err. What runs meanwhile may look like a discrepancy
 * for a moment: a caller asks again. */
int verify_notebook(struct store *store, int tasks_directory,
                    const struct task_record *task, int64_t *cells,
                    struct err *err);

#endif
