/* The verb `token`: who may ask, looked after without the service. */
#ifndef CELLPOST_FCGI_CLI_TOKENS_H
#define CELLPOST_FCGI_CLI_TOKENS_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/conf/conf_settings.h"
#include "core/store/store.h"

#define TOKENS_VERB "token"

/* `words` are those behind "token": add NAME, list, rotate NAME, revoke NAME,
 * with options. A new token is printed on standard output, once. 0, or -1 with
 * *err set. */
int tokens_run(const struct conf *conf, int count, char **words,
               struct err *err);

/* Tells the web server, by a file in the state directory, whether it must ask
 * the application about each file of a task. */
int tokens_mark(const struct conf *conf, struct store *store, struct err *err);

/* Whether whoever reaches another address than loopback may do everything: no
 * token is needed, and hosts has other names. */
bool tokens_are_wanted(const struct conf *conf);

/* A line for each of them. */
void tokens_help(FILE *out);

#endif
