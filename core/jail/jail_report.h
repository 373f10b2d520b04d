/* What confines kernels here, told to the app: in the run directory's
 * jail.json,
 * {"mode": "auto", "layers": [{"name", "meaning", "state", "note"}, …]}. */
#ifndef CELLPOST_JAIL_JAIL_REPORT_H
#define CELLPOST_JAIL_JAIL_REPORT_H

#include "core/jail/jail_host.h"
#include "core/json/json.h"

/* As above; the caller's. */
struct json *jail_report(const struct jail_host *host);

/* Writes it into `directory`, readable for all. */
int jail_report_write(const struct jail_host *host, int directory,
                      struct err *err);

/* Reads what the keeper wrote into the run directory; the caller's.
 * ERR_NOT_FOUND: no keeper has run there. */
int jail_report_read(const char *run_directory, struct json **ret,
                     struct err *err);

/* Tries out what this process could do if it were the keeper, in a directory of
 * its own in /tmp; the caller's. */
int jail_report_try(const struct conf *conf, struct json **ret,
                    struct err *err);

#endif
