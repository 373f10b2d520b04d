/* Drives one execution from execute_request to its end: one poll over the
 * kernel's channels, its process, the wish to cancel, and the deadline. */
#ifndef CELLPOST_RUN_DRIVE_H
#define CELLPOST_RUN_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/notebook/cell.h"
#include "core/notebook/collector.h"
#include "core/run/late.h"
#include "core/run/lease.h"
#include "core/run/live.h"
#include "core/run/run.h"
#include "core/run/trail.h"
#include "core/store/run.h"

/* Where the ladder that ends a run stands. */
enum drive_step {
  DRIVE_RUNNING,
  DRIVE_INTERRUPTED, /* SIGINT (or interrupt_request) and a nudge were sent */
  DRIVE_INTERRUPTED_AGAIN,
  DRIVE_KILLED, /* the keeper ended the kernel */
};

struct drive {
  /* given; all borrowed */
  struct engine *engine;
  struct live_run *live;
  struct lease *lease;
  const struct run_record *record;
  struct collector *collector;
  const struct json *stdin_lines; /* or NULL */
  const struct run_sink *sink;    /* or NULL */
  struct code_cell *cell;         /* NULL: nothing goes to the notebook */
  bool replay; /* a cell of the history, again: no rows, no events */

  /* found out */
  struct execution execution; /* drive_done frees it */
  enum run_status verdict;    /* RUN_OK unless the run was ended from outside */
  const char *ended_by;     /* "SIGINT", "interrupt_request", "SIGTERM", … */
  bool died;                /* the kernel is gone */
  bool abandoned;           /* it still runs: nobody could end it */
  struct kernel_record end; /* how it went, when it died and that is known */
  int64_t running_line;     /* at the moment it was ended, or -1 */
  struct json *notes;       /* array of sentences, or NULL */
  struct run_trail trail;   /* what goes to the event log */

  /* its own */
  enum drive_step step;
  int64_t deadline; /* of the run, or of the ladder's present step; 0: none */
  int64_t record_at, gather_until, publish_at, tick_at, silent_since,
      half_deadline;
  int64_t publish_pause;
  bool dirty;
  size_t lines_given;
  struct late_batch late;
};

/* Sends the cell and sees it through. Fails only when it could not be sent at
 * all, or was refused (ERR_UNAVAILABLE), or when it had been cancelled before
 * it could be sent (ERR_CONFLICT). */
int drive_run(struct drive *drive, struct err *err);
void drive_done(struct drive *drive); /* frees what it found out */

/* Adds a sentence to the run's notes. */
void drive_note(struct drive *drive, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* drive_end.c: the ladder. Begins it (once) with the verdict it serves. */
void drive_end(struct drive *drive, enum run_status verdict);
/* The present step's time is over: the next one. */
void drive_end_next(struct drive *drive);
/* Takes the running line from the kernel's last stack dump. */
void drive_read_line(struct drive *drive);
/* exit() was called: sees to it that the kernel ends. */
void drive_await_exit(struct drive *drive);
/* The kernel's process has ended: how. */
void drive_read_end(struct drive *drive);

#endif
