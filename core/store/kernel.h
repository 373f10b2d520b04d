/* Table kernels: one row a kernel life. Written by the keeper alone. */
#ifndef CELLPOST_STORE_KERNEL_H
#define CELLPOST_STORE_KERNEL_H

#include <stdbool.h>

#include "core/store/store.h"

/* How a life ended. Stored by name (kernel_end_name). */
enum kernel_end {
  KERNEL_END_NONE,      /* it lives */
  KERNEL_END_EXIT,      /* by itself: exit_code */
  KERNEL_END_SIGNAL,    /* by a signal that we did not send */
  KERNEL_END_OOM,       /* by the memory limit */
  KERNEL_END_STOPPED,   /* somebody asked (DELETE, down) */
  KERNEL_END_RESTARTED, /* somebody asked for a new one */
  KERNEL_END_KILLED,   /* it did not answer an interrupt: the ladder ended it */
  KERNEL_END_CULLED,   /* idle for too long */
  KERNEL_END_START,    /* never became ready */
  KERNEL_END_VANISHED, /* ended while no keeper watched; status unknown */
};
const char *kernel_end_name(enum kernel_end end);
enum kernel_end kernel_end_parse(const char *name); /* NONE if unknown */

struct kernel_record {
  char *id; /* UUID */
  char *task;
  int64_t generation; /* 1, 2, … within the task */
  char *kernelspec;
  int64_t pid;       /* of the kernel itself, in the host's namespace */
  int64_t pid_start; /* field 22 of /proc/<pid>/stat (proc(5)) */
  char *directory;   /* connection.json, ipc sockets, log */
  int64_t started_at;
  int64_t ended_at; /* 0: it lives */
  enum kernel_end end;
  int64_t exit_code;                 /* -1: none */
  int64_t signal;                    /* 0: none */
  char *reason;                      /* one sentence for people, or NULL */
  int64_t memory_peak, memory_limit; /* bytes; 0 unknown */
};
void kernel_record_free(struct kernel_record *record); /* members; cleanup */

/* The task's latest life (alive or ended). ERR_NOT_FOUND: it never had one. */
int kernel_latest(struct store *store, const char *task,
                  struct kernel_record *ret, struct err *err);
/* The life of the task with that generation. */
int kernel_generation(struct store *store, const char *task, int64_t generation,
                      struct kernel_record *ret, struct err *err);
int kernel_get(struct store *store, const char *id, struct kernel_record *ret,
               struct err *err);
/* Every life that has no end yet. */
int kernel_list_alive(struct store *store, struct kernel_record **ret,
                      size_t *count, struct err *err);
void kernel_list_free(struct kernel_record *list, size_t count);

/* Inserts a life; its generation is one more than the task's last, left in
 * record->generation. With a process also writes an event. */
int kernel_insert(struct store *store, struct kernel_record *record,
                  struct err *err);
/* Ends a life once, at `ended_at` (wall clock); a second end changes nothing.
 * Also writes an event. */
int kernel_set_end(struct store *store, const char *id, enum kernel_end end,
                   int64_t exit_code, int64_t signal, const char *reason,
                   int64_t memory_peak, int64_t ended_at, struct err *err);

/* When the task last had a run (start or end), 0 if never; and whether one is
 * queued or running. For culling. */
int kernel_activity(struct store *store, const char *task, int64_t *last_at,
                    bool *busy, struct err *err);

#endif
