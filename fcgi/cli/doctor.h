/* `cellpost doctor`: what this host can enforce, one line each. */
#ifndef CELLPOST_FCGI_CLI_DOCTOR_H
#define CELLPOST_FCGI_CLI_DOCTOR_H

#include <stdio.h>

#include "core/conf/conf.h"

/* Writes a line "ok    name: detail" or "--    name: what is missing" for each
 * thing looked at. Returns how many of those that the configuration cannot do
 * without are missing. */
int doctor_report(const struct conf *conf, FILE *out);

#endif
