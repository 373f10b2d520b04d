/* Giving up root before anything is read from the network. */
#ifndef CELLPOST_FCGI_CLI_PRIVILEGE_H
#define CELLPOST_FCGI_CLI_PRIVILEGE_H

#include "core/base/err.h"
#include "core/conf/conf.h"

/* As root: makes the state and run directories when they are missing (they then
 * belong to conf->user) and becomes conf->user for good, with its groups, no
 * capability, and no way to gain one. As anyone else: nothing. Returns 1 when
 * the process still is root because conf->user is, else 0. ERR_NOT_FOUND: no
 * such user. */
int privilege_drop(const struct conf *conf, struct err *err);

#endif
