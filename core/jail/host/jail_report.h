/* What confines kernels here, told to the app:
 * {"mode": "auto", "layers": [{"name", "meaning", "state", "note"}, …]}. */
#ifndef CELLPOST_JAIL_HOST_JAIL_REPORT_H
#define CELLPOST_JAIL_HOST_JAIL_REPORT_H

#include "core/jail/host/jail_survey.h"
#include "core/json/json.h"

/* The caller's. */
struct json *jail_report(const struct jail_survey *survey);

/* Tries out what this process could do if it were the keeper, in a directory of
 * its own in /tmp; the caller's. */
int jail_report_try(const struct conf *conf, struct json **ret,
                    struct err *err);

#endif
