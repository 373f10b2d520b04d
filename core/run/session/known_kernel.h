/* What this process remembers of a kernel beside its channel (the attachment of
 * the cached channel). Forgetting it loses nothing but speed, and the late
 * outputs that no answer has told yet (they are recorded all the same). */
#ifndef CELLPOST_RUN_SESSION_KNOWN_KERNEL_H
#define CELLPOST_RUN_SESSION_KNOWN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/cgroup/meter.h"
#include "core/jupyter/wire.h"
#include "core/run/engine/task_notebook.h"
#include "core/run/session/late_told.h"
#include "core/store/kernel.h"

/* How many of the latest runs of a kernel can be told as the origin of late
 * output. */
#define KNOWN_KERNEL_RECENT 256

struct known_run {
  char message[WIRE_ID_SIZE];
  char run[ID_UUID_SIZE];
  uint64_t late_bytes; /* of output after its end, recorded so far */
};

struct known_kernel {
  struct kernel_record kernel;
  int process; /* pidfd */
  struct meter *meter;
  struct task_notebook notebook;
  bool dumps_stack; /* SIGUSR2 writes stack.txt (faulthandler) */
  bool interrupt_by_message;
  char kernelspec[128];
  char display_name[128];
  char init_fault[400]; /* what went wrong with the task's init_code, or "" */
  int64_t runs;         /* runs of this kernel, also before this process */
  bool replay_was_cut_off; /* not told yet */
  struct known_run recent[KNOWN_KERNEL_RECENT];
  unsigned next;
  uint64_t orphan_bytes; /* of output that belongs to none of them */
  struct late_told late; /* for the next answer */
};

/* Takes record and process (a pidfd). */
struct known_kernel *known_kernel_new(struct kernel_record *kernel,
                                      int process);
void known_kernel_free(void *known); /* NULL is fine */

/* Remembers which run a message id belongs to; finds it again (NULL: unknown).
 */
void known_kernel_remember(struct known_kernel *known, const char *message,
                           const char *run);
const char *known_kernel_run(const struct known_kernel *known,
                             const char *message);

/* Asks the kernel for a dump of its stack (no answer is waited for), when it
 * has been set up for that. */
void known_kernel_dump_stack(const struct known_kernel *known,
                             const char *keeper_socket);

/* The line of the code that the last dump shows as running, as its author
 * counts it, or -1. */
int64_t known_kernel_running_line(const struct known_kernel *known,
                                  const char *code, size_t length);

/* Where it is counted how much a run ("": none of those known) has put out
 * late. */
uint64_t *known_kernel_late_bytes(struct known_kernel *known, const char *run);

#endif
