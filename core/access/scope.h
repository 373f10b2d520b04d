/* What a token may be used for. Pure. */
#ifndef CELLPOST_ACCESS_SCOPE_H
#define CELLPOST_ACCESS_SCOPE_H

#include "core/base/buf.h"
#include "core/base/err.h"

enum scope {
  SCOPE_NONE = 0,
  SCOPE_READ = 1,     /* look at tasks, runs, files, feeds */
  SCOPE_RUN = 2,      /* run code, change files, end runs, make tasks */
  SCOPE_PACKAGES = 4, /* install packages */
  SCOPE_ADMIN = 8,    /* everything, in all tasks */
};
#define SCOPE_ALL (SCOPE_READ | SCOPE_RUN | SCOPE_PACKAGES | SCOPE_ADMIN)

/* "read" for SCOPE_READ; of one scope. */
const char *scope_name(enum scope scope);

/* "read,run" as a set of bits; spaces are let pass. `admin` brings the others.
 * ERR_INVALID names the word that is no scope; an empty list is none. */
int scope_parse(const char *text, unsigned *ret, struct err *err);

/* The way back: "read,run"; all of them are "admin". */
void scope_format(unsigned scopes, struct buf *out);

#endif
