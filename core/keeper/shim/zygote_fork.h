/* The part of a zygote (zygote.h) that is not Python: a small shared library
 * that zygote.py loads by ctypes, with the GIL held. It is made of the same
 * code as the keeper's own shims and jails, and embedded in the keeper. */
#ifndef CELLPOST_KEEPER_SHIM_ZYGOTE_FORK_H
#define CELLPOST_KEEPER_SHIM_ZYGOTE_FORK_H

#include <stddef.h>
#include <stdint.h>

/* The descriptors that a zygote is started with. */
#define ZYGOTE_CHANNEL 3 /* SOCK_SEQPACKET, to the keeper */
#define ZYGOTE_LIBRARY 4 /* this library; zygote.py closes it */
#define ZYGOTE_SCRIPT 5  /* zygote.py; likewise */
#define ZYGOTE_KERNEL 6  /* zygote_kernel.py; likewise */
#define ZYGOTE_SETUP 7   /* core/ipykernel/setup; likewise */

/* What a zygote answers to an order. */
struct zygote_answer {
  int32_t shim;  /* pid; -1: none could be made */
  int32_t error; /* errno then */
};

/* Finds the memory of this process's arguments and environment, for the titles
 * of shims and kernels. 0 on success. */
__attribute__((visibility("default"))) int zygote_fork_open(void);

/* Shows the name in ps(1) and top(1). */
__attribute__((visibility("default"))) void zygote_fork_call(const char *name);

/* Makes a shim and a kernel for every order that comes. Returns 0 in the zygote
 * when the keeper has closed the channel, and 1 in each kernel, which is jailed
 * then; -1 when the channel is broken. */
__attribute__((visibility("default"))) int zygote_fork_wait(int channel);

/* In a kernel: what the order says. Both lists end with NULL. */
__attribute__((visibility("default"))) char *const *zygote_fork_arguments(void);
__attribute__((visibility("default"))) char *const *
zygote_fork_environment(void);
/* To the keeper (spare.h); 0: none. */
__attribute__((visibility("default"))) int zygote_fork_attendance(void);

/* In a kernel, once nothing uses the environment any more that the zygote was
 * started with: /proc shows the kernel's own arguments and environment, as far
 * as there is room. */
__attribute__((visibility("default"))) void
zygote_fork_show(char *const *arguments, char *const *environment);

#endif
