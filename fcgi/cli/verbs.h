/* The command line of `cellpost`: its options and verbs. */
#ifndef CELLPOST_FCGI_CLI_VERBS_H
#define CELLPOST_FCGI_CLI_VERBS_H

#include "core/base/err.h"
#include "core/conf/conf.h"

/* Reads the configuration at `path`; NULL: where $CELLPOST_CONF says, else the
 * host's, else all defaults. */
int verbs_load_conf(const char *path, struct conf **ret, struct err *err);

/* Does what the arguments ask for. Returns the exit status; *err tells why when
 * that is not 0, unless its kind is ERR_NONE: then the help was the answer. */
int verbs_run(int count, char **arguments, struct err *err);

#endif
