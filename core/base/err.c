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

/* A full or a failing disk is no fault of the program. */
static enum err_kind kind_of_disk(int number) {
  switch (number) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return ERR_NO_SPACE;
  case EROFS:
  case EIO:
  case EUCLEAN:
    return ERR_UNAVAILABLE;
  default:
    return ERR_IO;
  }
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
  char reason[128];
  const char *name = strerror_r(number, reason, sizeof reason);
  const char *advice = number == EROFS ? ": make it writable"
                       : number == EIO || number == EUCLEAN
                           ? ": the disk fails; see the system's log"
                           : "";
  return err_set(err, kind == ERR_IO ? kind_of_disk(number) : kind,
                 "%.330s: %s%s", text, name, advice);
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
