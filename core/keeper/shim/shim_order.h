/* The order to start one kernel, and its way to another process (zygote.h):
 * bytes in one message, and descriptors that travel beside it. Both ends are of
 * the same build: numbers travel as they are in memory. */
#ifndef CELLPOST_KEEPER_SHIM_SHIM_ORDER_H
#define CELLPOST_KEEPER_SHIM_SHIM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/jail/jail.h"

/* What to run; everything is borrowed for the time of the call. */
struct shim_order {
  const char *title;             /* shown by ps(1), after SHIM_NAME */
  char *const *argv;             /* argv[0] without "/" is looked up in PATH */
  char *const *environment;      /* the whole of it */
  const char *working_directory; /* of the kernel */
  int directory;                 /* of the shim: log and exit record */
  int64_t terminate_grace_ms;    /* from SIGTERM to SIGKILL */
  bool in_place;                 /* no program is run: see shim_be */
  int attendance; /* stays open in a kernel that is in_place; 0: none */
  struct jail jail;
};

/* Of a packed order, the report among them. */
#define SHIM_ORDER_DESCRIPTORS (JAIL_DESCRIPTORS + 3)

/* Room for a packed order; a message of this size fits into a socket whatever
 * its settings (net.core.wmem_default, socket(7)). */
#define SHIM_ORDER_BYTES ((size_t)128 << 10)

/* Appends the order to `out` and says which descriptors go with it; `report` is
 * the one for shim_be. Returns how many there are, or -1 when `out` is full or
 * a part cannot be described. */
int shim_order_pack(const struct shim_order *order, int report, struct buf *out,
                    int ret[SHIM_ORDER_DESCRIPTORS]);

/* What must be known before anything else: how to fork. 0 on success. */
int shim_order_peek(const char *bytes, size_t length, struct jail *ret);

/* The order in `bytes`, which its texts point into. Descriptors are put where
 * they belong. What else it holds is allocated and never given back: this is
 * for a process that lives and dies with the order. ERR_INVALID. */
int shim_order_unpack(const char *bytes, size_t length, const int *descriptors,
                      int count, struct shim_order *ret, int *report,
                      struct err *err);

#endif
