/* A run that was accepted, between run_submit and its end. */
#ifndef CELLPOST_RUN_TICKET_H
#define CELLPOST_RUN_TICKET_H

#include <stdbool.h>

#include "core/run/lease.h"
#include "core/run/live.h"
#include "core/run/run.h"
#include "core/run/turn.h"
#include "core/store/run.h"

struct run_ticket {
  struct engine *engine;
  struct run_record record;
  struct turn *turn;
  struct live_run *live;
  bool repeat;
  struct json *stdin_lines;
  enum traceback_style traceback;
  int64_t text_limit, output_bytes, outputs, image_bytes;
};

/* Leaves the queue and the list of live runs: nobody waits for it any more. */
void ticket_leave(struct run_ticket *ticket);

/* run.c: a lease, with the replay that is due in a new kernel. When the kernel
 * ends within that, the lease is one of yet another kernel. As lease_take. */
int run_take_lease(struct engine *engine, const char *task, struct lease *ret,
                   char **stderr_tail, struct err *err);

/* Makes the task when it is missing and may be made (auto_create).
 * ERR_NOT_FOUND. */
int ticket_have_task(struct engine *engine, const char *task,
                     const char *caller, struct err *err);

#endif
