/* Faults as HTTP statuses and problem documents (RFC 9457). Pure. */
#ifndef CELLPOST_FCGI_HTTP_PROBLEM_H
#define CELLPOST_FCGI_HTTP_PROBLEM_H

#include "core/base/err.h"
#include "core/json/json.h"

/* The status of each kind of error. */
int problem_status(enum err_kind kind);

/* "Not Found" for 404 (RFC 9110, 15; RFC 4918; RFC 6585). */
const char *problem_reason(int status);

/* {type, title, status, detail, instance, request, …details}. For faults of our
 * own (5xx that the caller can do nothing about) `detail` tells nothing of the
 * inside: it points to the log by the request's id. details may be NULL. The
 * caller owns the result. */
struct json *problem_document(int status, const struct err *err,
                              const char *request_id,
                              const struct json *details);

/* True when what the error says is for the log and not for the client. */
bool problem_is_internal(enum err_kind kind);

#endif
