/* The ladder that ends a run from outside: SIGINT and a nudge, the same again,
 * then SIGTERM and SIGKILL of everything by the keeper. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/run/drive.h"
#include "core/run/engine_private.h"

/* Some libraries swallow one KeyboardInterrupt; a second SIGINT follows. */
#define SECOND_INTERRUPT_NS (1 * CLOCK_S)
/* exit() replies first and ends the process then, or wants to be shut down. */
#define EXIT_PATIENCE_MS 1000
#define SHUTDOWN_PATIENCE_MS 3000
/* How long a dead kernel's end may take to appear in the registry. */
#define END_PATIENCE_MS 900
#define DUMP_PAUSE_MS 5

static void interrupt(struct drive *drive) {
  struct channel *channel = drive->lease->cached->channel;
  struct err err = {0};
  if (drive->lease->memory->interrupt_by_message) {
    drive->ended_by = "interrupt_request";
    if (client_interrupt(channel, &err) < 0)
      drive_note(drive, "interrupt_request was not sent: %s", err.text);
    return;
  }
  drive->ended_by = "SIGINT";
  if (control_interrupt(drive->engine->keeper_socket, drive->lease->kernel.id,
                        &err) < 0)
    drive_note(drive, "SIGINT was not sent: %s", err.text);
  client_nudge(channel, NULL);
}

/* IPython drops the blank lines in front of a cell before it compiles it
 * (inputtransformer2, leading_empty_lines): its line 1 is a later one of the
 * user's. */
static int64_t leading_blank_lines(const struct run_record *record) {
  int64_t lines = 0;
  for (size_t i = 0; i < record->code_length; i++) {
    if (record->code[i] == '\n')
      lines++;
    else if (strchr(" \t\r\f\v", record->code[i]) == NULL)
      break;
  }
  return lines;
}

void drive_read_line(struct drive *drive) {
  int64_t line = lease_running_line(drive->lease);
  if (line > 0)
    drive->running_line = line + leading_blank_lines(drive->record);
}

static int64_t grace(const struct drive *drive) {
  return (int64_t)(drive->engine->conf->interrupt_grace * (double)CLOCK_S);
}

void drive_end(struct drive *drive, enum run_status verdict) {
  if (drive->step != DRIVE_RUNNING)
    return;
  drive->verdict = verdict;
  drive->step = DRIVE_INTERRUPTED;
  lease_dump_stack(drive->engine, drive->lease);
  /* The system gives SIGINT to another thread while the main one has SIGUSR2
   * pending, and then a main thread that waits for a lock never wakes. */
  poll(NULL, 0, DUMP_PAUSE_MS);
  interrupt(drive);
  int64_t wait = grace(drive);
  drive->deadline = clock_monotonic_ns() +
                    (wait < SECOND_INTERRUPT_NS ? wait : SECOND_INTERRUPT_NS);
}

/* The keeper answers when nothing of the kernel is left. */
static void kill_kernel(struct drive *drive) {
  struct err err = {0};
  char reason[200];
  snprintf(
      reason, sizeof reason, "it did not stop within %g s of an interrupt (%s)",
      drive->engine->conf->interrupt_grace, run_status_name(drive->verdict));
  drive->step = DRIVE_KILLED;
  drive->deadline = 0;
  int timeout = (int)(drive->engine->conf->terminate_grace * 1000.0) + 10000;
  if (control_stop(drive->engine->keeper_socket, drive->lease->kernel.task,
                   drive->lease->kernel.id, "killed", reason, timeout,
                   &err) < 0) {
    drive_note(drive, "the kernel could not be ended: %s", err.text);
    drive->abandoned = true;
  }
}

void drive_end_next(struct drive *drive) {
  if (drive->step == DRIVE_RUNNING) {
    drive_end(drive, RUN_TIMEOUT);
    return;
  }
  int64_t left = grace(drive) - SECOND_INTERRUPT_NS;
  drive_read_line(drive);
  if (drive->step == DRIVE_INTERRUPTED && left > 0) {
    interrupt(drive);
    lease_dump_stack(drive->engine, drive->lease);
    drive->step = DRIVE_INTERRUPTED_AGAIN;
    drive->deadline = clock_monotonic_ns() + left;
    return;
  }
  kill_kernel(drive);
}

void drive_read_end(struct drive *drive) {
  drive->died = true;
  if (lease_read_end(drive->engine, drive->lease->kernel.id, END_PATIENCE_MS,
                     &drive->end) < 0) {
    drive_note(drive, "the keeper did not record how the kernel ended");
    return;
  }
  if (drive->end.end == KERNEL_END_SIGNAL || drive->end.end == KERNEL_END_OOM)
    drive_note(drive, "what was written in the last moment before the kernel "
                      "died, and not flushed, is missing");
  if (drive->step == DRIVE_KILLED)
    drive->ended_by = drive->end.signal == SIGKILL ? "SIGKILL" : "SIGTERM";
}

static bool ends_within(struct drive *drive, int timeout_ms) {
  struct pollfd process = {drive->lease->process, POLLIN, 0};
  if (poll(&process, 1, timeout_ms) <= 0)
    return false;
  drive_read_end(drive);
  return true;
}

/* ipykernel ends by itself; other kernels leave that to who runs them (the
 * payload's ask_exit says no more than that). */
void drive_await_exit(struct drive *drive) {
  if (ends_within(drive, EXIT_PATIENCE_MS))
    return;
  client_shutdown(drive->lease->cached->channel, false, NULL);
  if (ends_within(drive, SHUTDOWN_PATIENCE_MS))
    return;
  struct err err = {0};
  if (control_stop(drive->engine->keeper_socket, drive->lease->kernel.task,
                   drive->lease->kernel.id, "stopped",
                   "it was to end but did not", 20000, &err) < 0)
    drive_note(drive, "the kernel was to end but could not be ended: %s",
               err.text);
  else
    ends_within(drive, END_PATIENCE_MS);
}
