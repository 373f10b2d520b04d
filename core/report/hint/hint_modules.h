/* What must be installed for an import that failed. Static. Internal to
 * core/report. */
#ifndef CELLPOST_REPORT_HINT_HINT_MODULES_H
#define CELLPOST_REPORT_HINT_HINT_MODULES_H

#include <stddef.h>

/* How much of a module's dotted name the table knows. */
enum hint_known { HINT_UNKNOWN, HINT_KNOWN_PART, HINT_KNOWN };

/* The distribution on PyPI that brings the module (dotted names by their
 * longest known part); the module's own first part when none is known.
 * `size` bytes of `name`; always NUL-terminated. */
enum hint_known hint_distribution(const char *module, char *name, size_t size);

/* What became of a module that no longer exists under this name in Python 3
 * (urllib2, distutils …), as a sentence; NULL for others. */
const char *hint_renamed_module(const char *module);

/* "import numpy as np" for "np"; NULL for others. */
const char *hint_usual_import(const char *name);

/* The entries of the first table, for tests. */
struct hint_module {
  const char *module, *distribution;
};
const struct hint_module *hint_modules(size_t *count);

#endif
