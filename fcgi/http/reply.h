/* What goes back to the client. A reply is written once: one JSON answer, one
 * problem document, one text, or one stream (stream.h).
 *
 * Every response carries X-Request-Id, "Cache-Control: no-store" and
 * "X-Content-Type-Options: nosniff"; none ever carries a CORS header, so that
 * no page of another origin can read an answer. */
#ifndef CELLPOST_FCGI_HTTP_REPLY_H
#define CELLPOST_FCGI_HTTP_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/json.h"
#include "fcgi/http/request.h"

struct reply {
  struct request *request;
  struct buf headers; /* complete lines that reply_header added */
  int status;         /* 0: nothing written yet */
  int64_t retry_s;    /* for Retry-After; 0: not known */
  uint64_t bytes;     /* of the body, so far */
};

void reply_open(struct reply *reply, struct request *request);
void reply_free(struct reply *reply);

/* Adds a header to the response that is still to be written. Control characters
 * in the value end it. */
void reply_header(struct reply *reply, const char *name, const char *value);

/* The whole response. ERR_TOO_LARGE with nothing written when the value does
 * not fit into BUF_ANSWER. */
int reply_json(struct reply *reply, int status, const struct json *value,
               struct err *err);
void reply_text(struct reply *reply, int status, const char *type,
                const char *text, size_t length);

/* A problem document with the status of err->kind, or with `status` unless that
 * is 0. Adds Retry-After where waiting helps. */
void reply_problem(struct reply *reply, int status, const struct err *err,
                   const struct json *details);

/* The head of a response whose body follows by reply_write. */
void reply_start(struct reply *reply, int status, const char *type);
/* -1 once the client is gone. */
int reply_write(struct reply *reply, const void *bytes, size_t length);
int reply_flush(struct reply *reply);

/* Ends a response that cannot be completed: the client sees it broken. */
void reply_break_off(struct reply *reply);

/* Appends `text` as it may stand in an address, slashes as they are. */
void reply_escape(const char *text, struct buf *out);

/* The client sees the response complete; the request's parameters are gone, the
 * thread may go on. */
void reply_finish(struct reply *reply);

#endif
