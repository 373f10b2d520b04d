/* How often a kernel was stopped by a rule of its jail, in the file `notice` of
 * its shim's directory: so that the app can tell why a run was interrupted. */
#ifndef CELLPOST_KEEPER_JAIL_NOTICE_H
#define CELLPOST_KEEPER_JAIL_NOTICE_H

#include "core/keeper/exit_record.h"

struct jail_notice {
  int64_t memory;    /* times that memory got tight */
  int64_t workspace; /* times that the workspace was over its size */
};

/* One more of that kind. What cannot be written is not told. */
void jail_notice_add(int directory, enum exit_cause cause);

/* Zeros when there is none. */
struct jail_notice jail_notice_read(int directory);

#endif
