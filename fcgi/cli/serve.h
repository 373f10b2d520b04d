/* The verb that the program is for: answering HTTP. */
#ifndef CELLPOST_FCGI_CLI_SERVE_H
#define CELLPOST_FCGI_CLI_SERVE_H

#include "core/base/err.h"
#include "core/conf/conf.h"

/* Serves over FastCGI until a signal ends it. `argument` is unused. Returns the
 * exit status or -1 with *err set. */
int serve_fastcgi(const struct conf *conf, const char *argument,
                  struct err *err);

/* Serves the one request of a web server that starts a process for each. */
int serve_cgi(const struct conf *conf, struct err *err);

#endif
