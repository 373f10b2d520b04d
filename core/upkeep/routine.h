/* A thread of the service that runs gc now and then. */
#ifndef CELLPOST_UPKEEP_ROUTINE_H
#define CELLPOST_UPKEEP_ROUTINE_H

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/store/store.h"

struct routine;

/* Every conf->interval seconds, the first time a minute after the start at the
 * latest; *ret is NULL when the interval is 0. Both are borrowed. Failures are
 * logged. */
int routine_start(const struct conf *conf, struct store *store,
                  struct routine **ret, struct err *err);

/* Ends it after its present small step. NULL is fine. */
void routine_stop(struct routine *routine);

#endif
