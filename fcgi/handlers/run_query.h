/* The query parameters that choose runs. */
#ifndef CELLPOST_FCGI_HANDLERS_RUN_QUERY_H
#define CELLPOST_FCGI_HANDLERS_RUN_QUERY_H

#include "core/store/run_search.h"
#include "fcgi/http/request.h"

/* task (unless `task` is given by the path), status, error, text, since, until,
 * before. The texts are the request's. ERR_FIELD names what cannot be taken. */
int run_query_read(const struct request *request, const char *task,
                   struct run_filter *ret, struct err *err);

#endif
