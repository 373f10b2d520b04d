/* Displays with an id, which later cells may update. */
#ifndef CELLPOST_RUN_LATE_DISPLAYS_H
#define CELLPOST_RUN_LATE_DISPLAYS_H

#include <stddef.h>

#include "core/notebook/collector.h"
#include "core/run/engine/engine.h"
#include "core/run/session/known_kernel.h"
#include "core/store/run.h"

/* The displays with an id among the first `count` outputs of the collector.
 * `ret` has room for as many; returns how many there are. Ids are borrowed. */
size_t displays_list(const struct collector *collector, size_t count,
                     struct run_display *ret);

/* Takes the collector's updates for outputs of earlier cells of this kernel and
 * writes them where those outputs are: registry and notebook. The caller has
 * the task's turn. */
void displays_update(struct engine *engine, struct known_kernel *known,
                     struct collector *collector);

#endif
