/* What is known of a run that a hint is made for. */
#ifndef CELLPOST_REPORT_HINT_HINT_SOURCE_H
#define CELLPOST_REPORT_HINT_HINT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"

struct hint_source {
  const char *status;
  const char *ename;
  const char *evalue;
  const char *language;
  /* What the probe (hint_probe_expression, evaluated silently in the kernel
   * after an error) saw, or NULL. Its shape is the business of this room. */
  const struct json *probe;
  const struct json *outputs; /* of the run, nbformat array; or NULL */
  bool packages_allowed;      /* installing is possible */
  bool state_kept;
  int64_t wall_ms, timeout_ms;
  int64_t memory_peak, memory_limit; /* bytes; 0 unknown */
  const char *running_line; /* at a timeout: its number or its text; or NULL */
};

#endif
