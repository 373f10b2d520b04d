/* Which layers this host can give, found out by trying. */
#ifndef CELLPOST_JAIL_HOST_JAIL_PROBE_H
#define CELLPOST_JAIL_HOST_JAIL_PROBE_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/jail/jail.h"

enum jail_state {
  JAIL_ON,
  JAIL_DEGRADED, /* holds in part; the note says what is missing */
  JAIL_OFF,      /* the note says why */
  JAIL_UNNEEDED, /* another layer does it; the note says which */
};

struct jail_status {
  enum jail_state state;
  char note[256];
};

/* Enters the jail in a child that does nothing else, and tells the outcome: 0,
 * or -1 with the layer that failed (JAIL_LAYERS: another reason). */
int jail_probe(const struct jail *jail, enum jail_layer *failed,
               struct err *err);

/* Tries until what is left works. Layers that do not are taken out of
 * jail->layers, their status says why. ERR_UNAVAILABLE: not even a jail without
 * layers works. */
int jail_probe_all(struct jail *jail, struct jail_status status[JAIL_LAYERS],
                   struct err *err);

/* One phrase: why a keeper that is not root can make no user namespace
 * (user_namespaces(7)), as far as the settings beneath the directory tell
 * ("/proc/sys"), and what to do. Cut to the size. */
void jail_probe_advice(const char *settings, char *ret, size_t size);

#endif
