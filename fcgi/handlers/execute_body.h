/* The body of an execute request, from bytes to what was asked. Pure. */
#ifndef CELLPOST_FCGI_HANDLERS_EXECUTE_BODY_H
#define CELLPOST_FCGI_HANDLERS_EXECUTE_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/run.h"
#include "fcgi/http/fields.h"
#include "fcgi/http/request.h"

/* What was asked. Texts are borrowed from the body. */
struct execute_body {
  struct run_request run; /* all but who asks, for which task */
  bool wait;
  /* as they came; `run` has them, too */
  struct field_code code;
  int images; /* 0 inline, 1 link, 2 signed */
  int traceback;
  int on_disconnect; /* 0: the run goes on, 1: it is interrupted */
};

/* Reads a parsed JSON object; `timeout_max` seconds are the most. ERR_FIELD
 * names the field; *details as in fields_read. */
int execute_body_read(const struct json *object, double timeout_max,
                      struct execute_body *ret, struct json **details,
                      struct err *err);

/* The body is the code itself. ERR_INVALID when it is empty or not UTF-8,
 * ERR_FIELD with *details as in fields_read when it holds a NUL. */
int execute_body_code(const char *bytes, size_t length,
                      struct execute_body *ret, struct json **details,
                      struct err *err);

/* What else is asked, beside a body that is the code: query parameters with the
 * names of the fields. `ret` goes on from execute_body_code; its texts live in
 * *keep, which the caller owns. Errors as of execute_body_read. */
int execute_body_query(const struct request_parameter *parameters, size_t count,
                       double timeout_max, struct execute_body *ret,
                       struct json **keep, struct json **details,
                       struct err *err);

/* An Idempotency-Key: 1 to 255 visible ASCII characters. */
int execute_body_check_key(const char *key, struct err *err);

#endif
