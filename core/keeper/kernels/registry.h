/* The kernels that the keeper watches, from their start (or adoption) until
 * nothing of them is left. Keeps the table `kernels` in step: an end is
 * recorded there before it is told, unless the database is locked: nothing here
 * waits for it. */
#ifndef CELLPOST_KEEPER_KERNELS_REGISTRY_H
#define CELLPOST_KEEPER_KERNELS_REGISTRY_H

#include <stddef.h>

#include "core/base/id.h"
#include "core/keeper/kernels/keeper.h"
#include "core/keeper/shim/shim.h"
#include "core/store/kernel.h"

struct kernel {
  struct kernel *next;
  struct keeper *keeper;
  char id[ID_UUID_SIZE];
  char task[ID_TASK_SIZE]; /* "": a stray, which has no row */
  uint64_t order;          /* keeper->kernels_met when it became its task's */
  int64_t generation;
  char *kernelspec;
  int64_t started_at, ended_at; /* wall clock, microseconds */
  int64_t memory_limit;
  char *directory;
  struct shim_process process;   /* pid 0: it has no shim (any more) */
  struct loop_source kernel_end; /* pidfds; -1 once seen */
  struct loop_source shim_end;
  int sockets; /* the watch of sockets.h; or -1 */
  int turn;    /* the task's turn, held while an idle kernel is ended; or -1 */

  enum kernel_end asked; /* the end that was asked for, or KERNEL_END_NONE */
  char asked_reason[256];
  int64_t died_at;             /* monotonic, when that was seen; 0: it lives */
  struct cgroup_usage counted; /* by then, of all its processes */
  int64_t force_at; /* when the shim itself is killed; 0: not planned */

  int64_t used_at;     /* when it was last in use (CLOCK_BOOTTIME, ns) */
  int64_t last_run_at; /* what the table said of that; -1: not looked yet */

  bool listed;      /* the table has its row */
  bool ended;       /* how it ended is known: see `last` */
  bool recorded;    /* … and is in the table */
  bool gone;        /* nothing of it runs, its directories are removed */
  int64_t retry_at; /* when to try to write again */
  int64_t leave_at; /* when to stop trying, since the keeper ends; or 0 */
  struct control_kernel *last; /* what a status answers once it has ended */
};

/* Watches a kernel that runs, or has run: its record tells id, task,
 * generation, process and directory; `shim` is its shim (pid 0:
 * none). A record without a task is a stray. Never fails: a process that
 * cannot be watched has ended. */
struct kernel *registry_add(struct keeper *keeper,
                            const struct kernel_record *record, pid_t shim,
                            int64_t shim_start);

struct kernel *registry_find(struct keeper *keeper, const char *id);
/* The task's kernel that has not ended, or NULL. */
struct kernel *registry_find_task(struct keeper *keeper, const char *task);
size_t registry_count(const struct keeper *keeper); /* not ended */

/* Writes its row, which has a generation then; nothing to do when it has one.
 * ERR_UNAVAILABLE: the database is locked; the registry tries again. */
int registry_list(struct kernel *kernel, struct err *err);

/* True when its process has ended, though how may not be known yet. */
bool registry_is_dead(const struct kernel *kernel);

/* Of strays: whether the process has ended; ends it at once; makes it the
 * kernel of the record's task, which has no row yet. */
bool registry_is_over(const struct kernel *kernel);
void registry_discard(struct kernel *kernel);
/* Makes a kernel a stray, and ends it at once: it cannot have a row. */
void registry_disown(struct kernel *kernel);
void registry_give(struct kernel *kernel, const struct kernel_record *record);

/* Asks it to end: SIGTERM, then the configured grace, then SIGKILL for all that
 * it started. The first who asks decides what is recorded. */
void registry_stop(struct kernel *kernel, enum kernel_end end,
                   const char *reason);

/* A signal to the shim (shim.h says which). ERR_NOT_FOUND: it has ended. */
int registry_signal_shim(struct kernel *kernel, int number, struct err *err);

/* What a status answers, about a watched kernel, or about any. */
void registry_tell(const struct kernel *kernel, struct control_kernel *ret);
int registry_tell_id(struct keeper *keeper, const char *id,
                     struct control_kernel *ret, struct err *err);

/* What is due by time: ends to find out, to record again, to force. Forgets
 * those that are gone. Returns when to be called next (monotonic, or
 * KEEPER_NEVER). */
int64_t registry_turn(struct keeper *keeper);

/* Between the files of the registry. */
/* Before a write: ERR_UNAVAILABLE without trying while the database is known to
 * be locked. After it: keeps that in mind. */
int registry_begin_write(struct keeper *keeper, struct err *err);
void registry_note_write(struct keeper *keeper, int result,
                         const struct err *err);
int registry_open_shim(const struct kernel *kernel); /* its directory, or -1 */
void registry_describe(const struct kernel *kernel, struct control_kernel *ret);
void registry_read_files(const struct kernel *kernel,
                         struct control_kernel *ret);
/* Finds out how a dead kernel ended, if that can be told already. */
void registry_settle(struct kernel *kernel);
void registry_record_end(struct kernel *kernel);
/* Keeps what its control group has counted: the group goes with it. */
void registry_note_death(struct kernel *kernel);
/* When the shim has ended, too: removes what is left. */
void registry_clear(struct kernel *kernel);

/* Forgets all; the kernels go on. */
void registry_close(struct keeper *keeper);

#endif
