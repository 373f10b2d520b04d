/* What the keeper tells of itself in files of the run directory, as JSON that
 * all may read:
 *   jail.json  what confines kernels here:
 *     {"mode": "auto", "layers": [{"name", "meaning", "state", "note"}, …]}
 *   warm.json  how kernels start here:
 *     {"enabled": true, "preload": "numpy …",
 *      "spares": {"wanted": 2, "ready": 1},
 *      "zygotes": [{"kernelspec", "state", "note"}, …]}
 *     where a state is "starting", "ready", "failed" (it is tried again) or
 *     "refused". */
#ifndef CELLPOST_CONTROL_CONTROL_REPORT_H
#define CELLPOST_CONTROL_CONTROL_REPORT_H

#include "core/base/err.h"
#include "core/json/json.h"

#define LAYOUT_JAIL_REPORT "jail.json"
#define LAYOUT_WARM_REPORT "warm.json"

/* Writes a report into `directory`, in one step. */
int control_report_write(int directory, const char *name,
                         const struct json *report, struct err *err);

/* Reads one from the run directory; the caller's. ERR_NOT_FOUND: no keeper has
 * run there. */
int control_report_read(const char *run_directory, const char *name,
                        struct json **ret, struct err *err);

#endif
