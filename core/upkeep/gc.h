/* Removes what the configuration's [retention] calls too old or too much, and
 * what was left behind, while the service runs: in small transactions, with
 * pauses between them.
 *
 *   runs            older than run_age; of each task, beyond task_bytes
 *   artifacts       that no run has any more, or that a killed process left
 *   files           of tasks deleted longer than deleted_age ago; temporary
 *                   ones of killed processes
 *   events          older than event_age
 *
 * Directories of tasks that the registry does not know are counted, not
 * removed. May be run by several processes at once. */
#ifndef CELLPOST_UPKEEP_GC_H
#define CELLPOST_UPKEEP_GC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/store/store.h"
#include "core/upkeep/gc_files.h"

struct gc_report {
  int64_t runs, events;
  struct gc_removed removed;
};

/* `stop` (may be NULL): ends it early, in order, when it becomes true. */
int gc_run(const struct conf *conf, struct store *store,
           const atomic_bool *stop, struct gc_report *ret, struct err *err);

#endif
