/* Lists of outputs (nbformat arrays). Pure.
 *
 * Neighbouring outputs of one stream are one text: the collector joins them
 * while a cell runs, and late ones go on where the last one ended. Notebook and
 * answers have them joined; the registry keeps each. */
#ifndef CELLPOST_NOTEBOOK_OUTPUTS_H
#define CELLPOST_NOTEBOOK_OUTPUTS_H

#include <stdbool.h>

#include "core/json/json.h"

/* All outputs joined; the caller's. Nothing of `outputs` is changed. */
struct json *outputs_join(const struct json *outputs);

/* An error as the kernel would publish it, of one that could not. */
struct json *outputs_error(const char *ename, const char *evalue);

/* True when both say the same: lists of lines are joined, and so are
 * neighbouring outputs of one stream. With `counts` execution counts must
 * agree, too. */
bool outputs_agree(const struct json *a, const struct json *b, bool counts);

#endif
