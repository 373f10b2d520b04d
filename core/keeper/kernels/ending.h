/* How a kernel's life ended, in the registry's words. */
#ifndef CELLPOST_KEEPER_KERNELS_ENDING_H
#define CELLPOST_KEEPER_KERNELS_ENDING_H

#include <stddef.h>

#include "core/process/exit_record.h"
#include "core/store/kernel.h"

struct ending {
  enum kernel_end end;
  int64_t exit_code; /* -1: none */
  int64_t signal;    /* 0: none */
  char reason[256];  /* one sentence */
};

/* asked: the end that was asked for (KERNEL_END_NONE: none), with a reason ("":
 * none given). It overrides what the record says, whose numbers are kept all
 * the same. record NULL: how it ended is not known. */
struct ending ending_of(enum kernel_end asked, const char *reason,
                        const struct exit_record *record);

/* The ends that a request may ask for, by name; KERNEL_END_NONE for others. */
enum kernel_end ending_parse(const char *name);

/* What was asked for, kept in the shim's directory for a keeper that comes
 * later; KERNEL_END_NONE: nothing was. */
void ending_write_asked(int directory, enum kernel_end end, const char *reason);
enum kernel_end ending_read_asked(int directory, char *reason, size_t size);

#endif
