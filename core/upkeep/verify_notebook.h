/* The part of verify that looks at one task's notebook. Private to verify. */
#ifndef CELLPOST_UPKEEP_VERIFY_NOTEBOOK_H
#define CELLPOST_UPKEEP_VERIFY_NOTEBOOK_H

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/task.h"

struct verify_cells {
  int64_t found;   /* in the notebook */
  int64_t missing; /* of runs; the first one is told in *err */
};

/* 0; 1 and *err; 2 and *err: only that cells are missing; -1 and *err. What
 * runs meanwhile may look like a discrepancy for a moment: a caller asks again.
 */
int verify_notebook(struct store *store, int tasks_directory,
                    const struct task_record *task, struct verify_cells *ret,
                    struct err *err);

#endif
