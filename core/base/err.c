#include "core/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_kind kind, const char *format, ...) {
  if (err == NULL)
    return -1;
  va_list arguments;
  va_start(arguments, format);
  /* Through a copy, so that err->text itself may be an argument. */
  char text[sizeof err->text];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  err->kind = kind;
  memcpy(err->text, text, sizeof text);
  return -1;
}

int err_errno(struct err *err, enum err_kind kind, int number,
              const char *format, ...) {
  if (err == NULL)
    return -1;
  char text[sizeof err->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  int no_space = number == ENOSPC || number == EDQUOT || number == EFBIG;
  char reason[128];
  const char *name = strerror_r(number, reason, sizeof reason);
  return err_set(err, kind == ERR_IO && no_space ? ERR_NO_SPACE : kind,
                 "%.380s: %s", text, name);
}

int err_wrap(struct err *err, const char *format, ...) {
  if (err == NULL)
    return -1;
  char text[sizeof err->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char inner[sizeof err->text];
  memcpy(inner, err->text, sizeof inner);
  snprintf(err->text, sizeof err->text, "%.200s: %.300s", text, inner);
  return -1;
}

void err_clear(struct err *err) {
  if (err == NULL)
    return;
  err->kind = ERR_NONE;
  err->text[0] = '\0';
}
