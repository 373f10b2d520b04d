/* What a keeper does with the kernels of an earlier one. */
#ifndef CELLPOST_KEEPER_ADOPT_H
#define CELLPOST_KEEPER_ADOPT_H

#include "core/keeper/kernels/keeper.h"

/* Watches every kernel that the table calls alive: those that run go on, for
 * those that ended meanwhile the end is found out and recorded. A shim that the
 * table does not know is ended with all below it, and directories of unknown
 * kernels are removed, after processes that name them have been killed.
 *
 * Without a store (the database cannot be read, and all kernels are to end):
 * every shim is ended that /proc shows; how stays written in its directory. */
int adopt_all(struct keeper *keeper, struct err *err);

#endif
