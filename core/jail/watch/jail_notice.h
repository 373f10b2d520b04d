/* When a kernel was interrupted last by a rule of its jail, in the file
 * `notice` of its shim's directory: so that the app can tell why a run ended.
 */
#ifndef CELLPOST_JAIL_WATCH_JAIL_NOTICE_H
#define CELLPOST_JAIL_WATCH_JAIL_NOTICE_H

#include "core/process/exit_record.h"

/* Wall clock, microseconds; 0: never. */
struct jail_notice {
  int64_t memory_at;    /* memory got tight */
  int64_t workspace_at; /* the workspace was over its size */
};

/* Now, for that cause. What cannot be written is not told. */
void jail_notice_write(int directory, enum exit_cause cause);

/* Zeros when there is none. */
struct jail_notice jail_notice_read(int directory);

#endif
