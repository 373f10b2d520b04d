/* The ends of runs, also when the registry cannot take them at once (a full
 * disk): they are kept in memory and tried again, so that a row does not stay
 * open. When this process ends first, its next one closes the run as lost.
 * Any thread. */
#ifndef CELLPOST_RUN_ENGINE_ENDINGS_H
#define CELLPOST_RUN_ENGINE_ENDINGS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/run.h"
#include "core/store/store.h"

/* Kept at once, with so many bytes of outputs; beyond that an end is kept
 * without its outputs, and says so in its notes. */
#define ENDINGS_BYTES ((size_t)256 << 20)

struct endings;
struct endings *endings_new(void);
void endings_free(struct endings *endings);

/* run_finish; on a failure that may pass the end is kept as well. */
int endings_finish(struct endings *endings, struct store *store,
                   const struct run_ending *ending, struct err *err);

/* Whether any is kept. */
bool endings_wait(struct endings *endings);

/* Tries what is kept, in order, up to the first that fails again; renews the
 * artifacts of those that go on waiting (beneath `tasks_directory`; -1: not).
 * Cheap when there is nothing. */
void endings_retry(struct endings *endings, struct store *store,
                   int tasks_directory);

#endif
