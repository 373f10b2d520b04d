/* The verbs that look after the history: each returns the exit status, with
 * *err set unless it is 0. */
#ifndef CELLPOST_FCGI_CLI_UPKEEP_H
#define CELLPOST_FCGI_CLI_UPKEEP_H

#include "core/base/err.h"
#include "core/conf/conf.h"

/* 1: a discrepancy, named by *err; 2: it could not be looked at. */
int upkeep_verify(const struct conf *conf, const char *argument,
                  struct err *err);
int upkeep_gc(const struct conf *conf, const char *argument, struct err *err);
/* `argument`: the file to make. */
int upkeep_backup(const struct conf *conf, const char *argument,
                  struct err *err);

#endif
