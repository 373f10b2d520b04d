#include "core/run/ladder.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/run/engine/engine_private.h"

/* Some libraries swallow one KeyboardInterrupt; a second SIGINT follows. */
#define SECOND_INTERRUPT_NS (1 * CLOCK_S)
/* exit() replies first and ends the process then, or wants to be shut down. */
#define EXIT_PATIENCE_MS 1000
#define SHUTDOWN_PATIENCE_MS 3000
/* How long the keeper may take to find out how a kernel ended: on a busy
 * machine its processes take their time to go. */
#define END_PATIENCE_MS 30000
/* A kernel that was ended is gone when the keeper says so; its pidfd tells it a
 * moment later. */
#define GONE_MS 900
#define DUMP_PAUSE_MS 5

static void dump_stack(const struct ladder *ladder) {
  known_kernel_dump_stack(ladder->session->known,
                          ladder->engine->keeper_socket);
}

static void interrupt(struct ladder *ladder) {
  const struct session *session = ladder->session;
  struct outcome *outcome = ladder->outcome;
  struct err err = {0};
  if (session->known->interrupt_by_message) {
    outcome->ended_by = "interrupt_request";
    if (client_interrupt(session->channel, &err) < 0)
      outcome_note(outcome, "interrupt_request was not sent: %s", err.text);
    return;
  }
  outcome->ended_by = "SIGINT";
  if (control_interrupt(ladder->engine->keeper_socket, session->kernel->id,
                        &err) < 0)
    outcome_note(outcome, "SIGINT was not sent: %s", err.text);
  client_nudge(session->channel, NULL);
}

void ladder_read_line(struct ladder *ladder) {
  int64_t line = known_kernel_running_line(ladder->session->known, ladder->code,
                                           ladder->code_length);
  if (line > 0)
    ladder->outcome->running_line = line;
}

static int64_t grace(const struct ladder *ladder) {
  const struct conf *conf = ladder->engine->conf;
  return (int64_t)(conf->interrupt_grace * (double)CLOCK_S);
}

void ladder_begin(struct ladder *ladder, enum run_status verdict) {
  if (ladder->step != LADDER_RUNNING)
    return;
  ladder->outcome->verdict = verdict;
  ladder->step = LADDER_INTERRUPTED;
  dump_stack(ladder);
  /* The system gives SIGINT to another thread while the main one has SIGUSR2
   * pending, and then a main thread that waits for a lock never wakes. */
  poll(NULL, 0, DUMP_PAUSE_MS);
  interrupt(ladder);
  int64_t wait = grace(ladder);
  ladder->deadline = clock_monotonic_ns() +
                     (wait < SECOND_INTERRUPT_NS ? wait : SECOND_INTERRUPT_NS);
}

/* The keeper answers when nothing of the kernel is left. */
static void kill_kernel(struct ladder *ladder) {
  const struct engine *engine = ladder->engine;
  const struct kernel_record *kernel = ladder->session->kernel;
  struct outcome *outcome = ladder->outcome;
  struct err err = {0};
  char reason[200];
  snprintf(reason, sizeof reason,
           "it did not stop within %g s of an interrupt (%s)",
           engine->conf->interrupt_grace, run_status_name(outcome->verdict));
  ladder->step = LADDER_KILLED;
  ladder->deadline = 0;
  int timeout = (int)(engine->conf->terminate_grace * 1000.0) + 10000;
  if (control_stop(engine->keeper_socket, kernel->task, kernel->id, "killed",
                   reason, timeout, &err) < 0) {
    outcome_note(outcome, "the kernel could not be ended: %s", err.text);
    outcome->abandoned = true;
  }
}

void ladder_next(struct ladder *ladder) {
  if (ladder->step == LADDER_RUNNING) {
    ladder_begin(ladder, RUN_TIMEOUT);
    return;
  }
  int64_t left = grace(ladder) - SECOND_INTERRUPT_NS;
  ladder_read_line(ladder);
  if (ladder->step == LADDER_INTERRUPTED && left > 0) {
    interrupt(ladder);
    dump_stack(ladder);
    ladder->step = LADDER_INTERRUPTED_AGAIN;
    ladder->deadline = clock_monotonic_ns() + left;
    return;
  }
  kill_kernel(ladder);
}

void ladder_read_end(struct ladder *ladder) {
  const struct kernel_record *kernel = ladder->session->kernel;
  struct outcome *outcome = ladder->outcome;
  struct kernel_record *end = &outcome->end;
  outcome->died = true;
  if (session_read_end(ladder->engine, kernel->id, END_PATIENCE_MS, end) < 0) {
    outcome_note(outcome, "the keeper did not record how the kernel ended");
    return;
  }
  if (end->end == KERNEL_END_SIGNAL || end->end == KERNEL_END_OOM)
    outcome_note(outcome, "what was written in the last moment before the "
                          "kernel died, and not flushed, is missing");
  if (ladder->step == LADDER_KILLED)
    outcome->ended_by = end->signal == SIGKILL ? "SIGKILL" : "SIGTERM";
}

static bool ends_within(struct ladder *ladder, int timeout_ms) {
  struct pollfd process = {ladder->session->process, POLLIN, 0};
  if (poll(&process, 1, timeout_ms) <= 0)
    return false;
  ladder_read_end(ladder);
  return true;
}

/* ipykernel ends by itself; other kernels leave that to who runs them (the
 * payload's ask_exit says no more than that). */
void ladder_await_exit(struct ladder *ladder) {
  const struct kernel_record *kernel = ladder->session->kernel;
  struct err err = {0};
  if (ends_within(ladder, EXIT_PATIENCE_MS))
    return;
  client_shutdown(ladder->session->channel, false, NULL);
  if (ends_within(ladder, SHUTDOWN_PATIENCE_MS))
    return;
  if (control_stop(ladder->engine->keeper_socket, kernel->task, kernel->id,
                   "stopped", "it was to end but did not", 20000, &err) < 0)
    outcome_note(ladder->outcome,
                 "the kernel was to end but could not be ended: %s", err.text);
  else
    ends_within(ladder, GONE_MS);
}
