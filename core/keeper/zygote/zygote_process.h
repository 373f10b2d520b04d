/* The process of a zygote: its start, and the kernels that it forks. */
#ifndef CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PROCESS_H
#define CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PROCESS_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/keeper/shim/shim.h"

struct zygote_process {
  pid_t pid;
  int end;     /* pidfd */
  int channel; /* SOCK_SEQPACKET */
  int words;   /* what it writes on stdout and stderr; not blocking */
};

struct zygote_order {
  char *const *program;  /* the interpreter and its options, NULL at the end */
  const char *name;      /* the kernelspec's */
  const char *arguments; /* what zygote.py calls so */
  const char *preload;   /* modules, spaces between */
  char *const *environment; /* NULL at the end */
};

/* It ends when the channel is closed, or this process ends. Descriptors are the
 * caller's, who reaps it. */
int zygote_process_start(const struct zygote_order *order,
                         struct zygote_process *ret, struct err *err);

/* Has it fork a kernel, as shim_start does for an order that is in_place.
 * ERR_PROTOCOL: it does not work any more. */
int zygote_process_fork(int channel, const struct shim_order *order,
                        struct shim_process *ret, struct err *err);

/* Why the interpreter must not run with the keeper's rights, or NULL. `program`
 * as in a kernelspec, looked up in the environment's PATH. The text is the
 * caller's. */
char *zygote_process_distrust(const char *program, char *const *environment);

#endif
