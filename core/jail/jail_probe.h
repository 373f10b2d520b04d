/* Which layers this host can give, found out by trying. */
#ifndef CELLPOST_JAIL_JAIL_PROBE_H
#define CELLPOST_JAIL_JAIL_PROBE_H

#include "core/jail/jail.h"

/* Enters the jail in a child that does nothing else, and tells the outcome: 0,
 * or -1 with the layer that failed (JAIL_LAYERS: another reason). */
int jail_probe(const struct jail *jail, enum jail_layer *failed,
               struct err *err);

/* Tries until what is left works. Layers that do not are taken out of
 * jail->layers, their status says why. ERR_UNAVAILABLE: not even a jail without
 * layers works. */
int jail_probe_all(struct jail *jail, struct jail_status status[JAIL_LAYERS],
                   struct err *err);

#endif
