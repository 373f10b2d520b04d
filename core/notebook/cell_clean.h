/* What came from elsewhere, made valid by the nbformat 4.5 schema. Pure.
 *
 * All results are new values that belong to the caller. */
#ifndef CELLPOST_NOTEBOOK_CELL_CLEAN_H
#define CELLPOST_NOTEBOOK_CELL_CLEAN_H

#include <stdbool.h>

#include "core/json/json.h"

/* True for ^[a-zA-Z0-9_-]{1,64}$. */
bool cell_is_id(const char *id);

/* A cell of any 4.x minor version as one of 4.5: keys that the schema does not
 * know are left out, values of the wrong kind set right, outputs cleaned. The
 * id is kept only when it is valid; else there is none. NULL when it is no
 * code, markdown or raw cell with a source. */
struct json *cell_clean(const struct json *cell);

/* An output of a code cell; NULL when it is none that the schema knows. */
struct json *cell_clean_output(const struct json *output);
/* All of them but those. */
struct json *cell_clean_outputs(const struct json *outputs);

/* Unique strings, not empty and without a comma. */
struct json *cell_clean_tags(const struct json *tags);

/* The notebook's own metadata: kernelspec and language_info are kept when they
 * are complete, and orig_nbformat never. */
struct json *cell_clean_notebook(const struct json *metadata);

/* kernelspec and language_info as the schema wants them. */
struct json *cell_kernelspec(const char *name, const char *display_name,
                             const char *language);
struct json *cell_language_info(const struct json *info, const char *language);

#endif
