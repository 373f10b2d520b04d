/* A kernel for one run: found in the registry, started when there is none,
 * connected, proved, set up. */
#ifndef CELLPOST_RUN_LEASE_H
#define CELLPOST_RUN_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cgroup/meter.h"
#include "core/jupyter/channel_cache.h"
#include "core/notebook/writer/notebook.h"
#include "core/run/engine.h"
#include "core/run/late_told.h"
#include "core/store/kernel.h"

/* How many of the latest runs of a kernel can be told as the origin of late
 * output. */
#define LEASE_RECENT 256

/* What this process remembers of a kernel beside its channel (the attachment of
 * the cached channel). Forgetting it loses nothing but speed, and the late
 * outputs that no answer has told yet (they are recorded all the same). */
struct lease_memory {
  struct kernel_record kernel;
  int process; /* pidfd */
  struct meter *meter;
  struct notebook *notebook;        /* or NULL */
  const struct notebook *described; /* the one whose metadata is set */
  bool dumps_stack; /* SIGUSR2 writes stack.txt (faulthandler) */
  bool interrupt_by_message;
  char kernelspec[128];
  char display_name[128];
  int64_t runs;            /* runs of this kernel, also before this process */
  bool replay_was_cut_off; /* not told yet */
  struct lease_run {
    char message[WIRE_ID_SIZE];
    char run[37];
    uint64_t late_bytes; /* of output after its end, recorded so far */
  } recent[LEASE_RECENT];
  unsigned next;
  uint64_t orphan_bytes; /* of output that belongs to none of them */
  char *aside; /* the notebook that was set aside, until an answer tells it */
  struct late_told late; /* for the next answer */
};

struct lease {
  struct cached_channel *cached;
  struct lease_memory *memory; /* = cached->attachment */
  struct kernel_record kernel;
  int process;       /* pidfd */
  const char *state; /* kept | fresh | lost, as the run meets the kernel */
  char reason[400];  /* "" when there is none */
  char *note;        /* what went wrong on the way (init_code …), or NULL */
};

/* Has a kernel ready within conf.start_timeout. ERR_UNAVAILABLE tells why there
 * is none; then *stderr_tail is the end of what the kernel itself said
 * (malloc'ed), or NULL. */
int lease_take(struct engine *engine, const char *task, struct lease *ret,
               char **stderr_tail, struct err *err);

/* Gives the channel back to the cache (alive), or closes it. */
void lease_give(struct engine *engine, struct lease *lease, bool alive);

/* Remembers which run a message id belongs to; finds it again (NULL: unknown).
 */
void lease_remember(struct lease_memory *memory, const char *message,
                    const char *run);
const char *lease_recall(const struct lease_memory *memory,
                         const char *message);

/* The end of a kernel whose pidfd fired: waits for the keeper to record it, at
 * most `timeout_ms`; 0 and *ret, else -1 (nobody can tell). */
int lease_read_end(struct engine *engine, const char *kernel, int timeout_ms,
                   struct kernel_record *ret);

/* Asks the kernel for a dump of its stack (no answer is waited for). */
void lease_dump_stack(struct engine *engine, const struct lease *lease);

/* The line of the cell that the last dump shows as running, or -1. */
int64_t lease_running_line(const struct lease *lease);

#endif
