/* Outputs as the registry and as the notebook have them, made alike. Pure.
 * Private to verify. */
#ifndef CELLPOST_UPKEEP_VERIFY_OUTPUTS_H
#define CELLPOST_UPKEEP_VERIFY_OUTPUTS_H

#include <stdbool.h>

#include "core/base/json.h"

/* Whether two nbformat arrays say the same: lists of lines are joined, and so
 * are neighbouring outputs of one stream, which late output continues in the
 * notebook and not in the registry. */
bool verify_same_outputs(const struct json *a, const struct json *b);

#endif
