/* The place in an error of IRkernel. Pure. */
#ifndef CELLPOST_REPORT_TRACEBACK_IRKERNEL_H
#define CELLPOST_REPORT_TRACEBACK_IRKERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/report/traceback/code.h"

/* False when the error tells none. The column is 0 unless it is known. */
bool irkernel_place(const struct json *error, const struct code *code,
                    int64_t *line, int64_t *column);

#endif
