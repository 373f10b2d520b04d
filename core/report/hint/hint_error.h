/* The hint for an exception, by its class and by what its message is about.
 * Pure. */
#ifndef CELLPOST_REPORT_HINT_HINT_ERROR_H
#define CELLPOST_REPORT_HINT_HINT_ERROR_H

#include "core/report/hint/hint_rule.h"

void hint_error_compose(struct hint *hint);

#endif
