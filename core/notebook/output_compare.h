/* Whether two lists of outputs say the same. Pure. */
#ifndef CELLPOST_NOTEBOOK_OUTPUT_COMPARE_H
#define CELLPOST_NOTEBOOK_OUTPUT_COMPARE_H

#include <stdbool.h>

#include "core/json/json.h"

/* Of two nbformat arrays: lists of lines are joined, and so are neighbouring
 * outputs of one stream. With `counts` execution counts must agree, too. */
bool outputs_agree(const struct json *a, const struct json *b, bool counts);

#endif
