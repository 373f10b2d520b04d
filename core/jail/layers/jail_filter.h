/* A system call filter, compiled. */
#ifndef CELLPOST_JAIL_LAYERS_JAIL_FILTER_H
#define CELLPOST_JAIL_LAYERS_JAIL_FILTER_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct jail_filter {
  struct buf program; /* struct sock_filter, one after the other */
};

void jail_filter_free(struct jail_filter *filter); /* NULL is fine */

/* Puts the calling process (of one thread) and all its children under the
 * filter, for ever. Needs no_new_privs. */
int jail_filter_enter(const struct jail_filter *filter, struct err *err);

#endif
