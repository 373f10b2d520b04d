/* What all tasks of a tenant hold together. */
#ifndef CELLPOST_RUN_FILES_FILES_TENANT_H
#define CELLPOST_RUN_FILES_FILES_TENANT_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/run/engine/engine.h"

/* ERR_NO_SPACE when `more` bytes bring the files of the tenant's tasks over
 * `most`. Counts what is there: the cost grows with the number of files. */
int files_tenant_check(struct engine *engine, const char *tenant, int64_t most,
                       int64_t more, struct err *err);

#endif
