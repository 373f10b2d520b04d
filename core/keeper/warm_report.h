/* How kernels start here, told to the app: in the run directory's warm.json,
 * {"enabled": true, "preload": "numpy …", "spares": {"wanted": 2, "ready": 1},
 *  "zygotes": [{"kernelspec", "state", "note"}, …]}.
 * A state is "starting", "ready", "failed" (it is tried again) or "refused". */
#ifndef CELLPOST_KEEPER_WARM_REPORT_H
#define CELLPOST_KEEPER_WARM_REPORT_H

#include "core/json/json.h"

struct keeper;

/* Writes it anew when something has changed. */
void warm_report_turn(struct keeper *keeper);

/* Reads what the keeper wrote into the run directory; the caller's.
 * ERR_NOT_FOUND: no keeper has run there. */
int warm_report_read(const char *run_directory, struct json **ret,
                     struct err *err);

#endif
