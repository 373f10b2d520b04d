/* How a kernel's process ended, kept on disk so that a keeper that was not
 * there learns it later. One line in the file `exit`:
 *   exited CODE | signaled NUMBER, then PEAK_BYTES CPU_US CAUSE LIMIT_BYTES
 * (an older one may lack the last two). */
#ifndef CELLPOST_PROCESS_EXIT_RECORD_H
#define CELLPOST_PROCESS_EXIT_RECORD_H

#include <stdint.h>
#include <sys/resource.h>

#include "core/base/err.h"

/* Why the shim or the system killed it. */
enum exit_cause {
  EXIT_PLAIN,         /* neither did */
  EXIT_MEMORY,        /* the limit of memory */
  EXIT_WORKSPACE,     /* that of the workspace */
  EXIT_RUN_DIRECTORY, /* it filled the directory of its sockets */
};

struct exit_record {
  int64_t exit_code;   /* -1: none, a signal ended it */
  int64_t signal;      /* 0: none */
  int64_t memory_peak; /* bytes: of all its processes when they are counted
                          together (cgroup.h), else ru_maxrss (getrusage(2)) */
  int64_t cpu_us;      /* likewise, else with its waited-for children */
  enum exit_cause cause;
  int64_t memory_limit; /* bytes; 0: none */
};

/* From what wait4(2) gave. Pure. */
struct exit_record exit_record_of(int wait_status, const struct rusage *usage);

/* Writes it durably, in one step. */
int exit_record_write(int directory, const struct exit_record *record,
                      struct err *err);

/* ERR_NOT_FOUND: there is none (yet); ERR_INVALID: it is garbled. */
int exit_record_read(int directory, struct exit_record *ret, struct err *err);

#endif
