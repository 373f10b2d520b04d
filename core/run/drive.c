#include "core/run/drive.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine_private.h"
#include "core/store/replay.h"

/* The notebook is brought up to date this often while a cell runs; the pause
 * grows with the cost, so that publishing never takes more than a tenth. */
#define PUBLISH_PAUSE (100 * CLOCK_MS)
/* Another process may have asked to cancel: the registry is looked at. */
#define TICK (500 * CLOCK_MS)
#define START_PAUSE (8 * CLOCK_MS)
/* A short run's outputs are read together with its reply, unless somebody
 * watches: each message alone would wake this thread, beside the kernel. */
#define GATHER (30 * CLOCK_MS)
#define KEEPALIVE (15 * CLOCK_S)
/* A run has ended when the kernel has replied and is idle. Once one of both has
 * come, the other one, which some kernels forget, is not waited for longer. */
#define OTHER_HALF_PATIENCE (4 * CLOCK_S)
/* What a dead kernel had sent is read until it is quiet for so long. */
#define LAST_WORDS_MS 30
/* How long a kernel may leave no room for the cell. */
#define ROOM (30 * CLOCK_S)
/* Messages taken from one channel before the others get their turn. */
#define BURST 256

void drive_done(struct drive *drive) {
  execution_free(&drive->execution);
  kernel_record_free(&drive->end);
  json_done(&drive->notes);
  run_trail_done(&drive->trail);
}

static int64_t earliest(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return a == 0 ? b : a;
  return a < b ? a : b;
}

static void tell(struct drive *drive, const char *type,
                 const struct json *content) {
  if (drive->sink == NULL)
    return;
  drive->sink->event(drive->sink->context, type, content);
  drive->silent_since = clock_monotonic_ns();
}

static void take_output(struct drive *drive, const struct message *message) {
  if (strcmp(message->type, "comm_open") == 0) {
    const char *target = json_get_text(message->content, "target_name");
    if (target == NULL || strncmp(target, "jupyter.widget", 14) != 0)
      client_close_comm(drive->lease->cached->channel, message, NULL);
    return;
  }
  int64_t now = clock_monotonic_ns();
  live_lock(drive->live);
  bool changed =
      collector_add(drive->collector, message->type, message->content);
  bool over = collector_hard_limit(drive->collector);
  if (!drive->replay)
    run_trail_add(&drive->trail, message->type, message->content, now);
  live_unlock(drive->live);
  tell(drive, message->type, message->content);
  if (changed && !drive->dirty) {
    drive->dirty = true;
    drive->publish_at = now + drive->publish_pause;
  }
  if (over)
    drive_end(drive, RUN_OUTPUT_LIMIT);
}

/* A thread of an earlier cell may update what this one shows. */
static bool updates_shown(const struct drive *drive,
                          const struct message *message) {
  return strcmp(message->type, "update_display_data") == 0 &&
         collector_shows(drive->collector, message->content);
}

/* Lines given with the request in order, then the end of the input. Kernels
 * other than Python's know no end, and some ask although they were told that
 * there is nobody to ask (IRkernel): an empty line is all they can get. */
static void answer_input(struct drive *drive, const struct message *message) {
  const char *line = json_text(json_at(drive->stdin_lines, drive->lines_given));
  bool python = strcmp(drive->lease->cached->info.language, "python") == 0;
  if (line != NULL)
    drive->lines_given++;
  else if (!python) {
    line = "";
    drive_note(drive, "the cell asked for a line of input that was not given "
                      "with the request; it got an empty one");
  }
  struct err err = {0};
  if (client_input(drive->lease->cached->channel, message, line, &err) < 0)
    drive_note(drive, "input() was not answered: %s", err.text);
}

static void observe(struct drive *drive, enum channel_name from,
                    const struct message *message) {
  switch (client_observe(&drive->execution, from, message)) {
  case CLIENT_OUTPUT:
    take_output(drive, message);
    break;
  case CLIENT_FOREIGN:
    if (updates_shown(drive, message))
      take_output(drive, message);
    else
      late_take(drive->engine, drive->record->task, drive->lease->memory,
                &drive->late, message);
    break;
  case CLIENT_INPUT:
    answer_input(drive, message);
    break;
  case CLIENT_NOTHING:
    break;
  }
  if (drive->execution.replied != drive->execution.idle &&
      drive->half_deadline == 0)
    drive->half_deadline = clock_monotonic_ns() + OTHER_HALF_PATIENCE;
}

static int take_messages(struct drive *drive, int mask, struct err *err) {
  for (int name = 0; name < CHANNEL_HEARTBEAT; name++) {
    for (int i = 0; (mask & 1 << name) != 0 && i < BURST; i++) {
      CLEANUP(message_free) struct message message = {0};
      int got = channel_receive(drive->lease->cached->channel,
                                (enum channel_name)name, &message, err);
      if (got < 0)
        return -1;
      if (got == 0)
        break;
      observe(drive, (enum channel_name)name, &message);
    }
  }
  return 0;
}

static void publish(struct drive *drive) {
  drive->dirty = false;
  drive->publish_at = 0;
  if (drive->cell == NULL)
    return;
  int64_t start = clock_monotonic_ns();
  live_lock(drive->live);
  CLEANUP(json_done) struct json *outputs = collector_outputs(drive->collector);
  live_unlock(drive->live);
  struct code_cell cell = *drive->cell;
  cell.outputs = outputs;
  cell.execution_count = drive->execution.execution_count;
  struct err err = {0};
  struct notebook *notebook = late_notebook(drive->engine, drive->record->task,
                                            drive->lease->memory, &err);
  if (notebook != NULL)
    notebook_replace_code(notebook, &cell, &err);
  int64_t cost = clock_monotonic_ns() - start;
  drive->publish_pause = 10 * cost > PUBLISH_PAUSE ? 10 * cost : PUBLISH_PAUSE;
}

static void flush_trail(struct drive *drive) {
  struct event_record *events = NULL;
  live_lock(drive->live);
  size_t count =
      run_trail_take(&drive->trail, drive->record->task, drive->record->id,
                     clock_monotonic_ns(), &events);
  live_unlock(drive->live);
  struct err err = {0};
  if (event_append(drive->engine->store, events, count, &err) < 0)
    drive_note(drive, "part of the event log is missing: %s", err.text);
  live_lock(drive->live);
  run_trail_note_recorded(&drive->trail);
  live_unlock(drive->live);
  run_trail_events_free(events, count);
}

/* The row is durable since it was queued. That it runs is written once it has
 * run for a moment; for a shorter run its end tells both, in one transaction.
 */
static void record_start(struct drive *drive) {
  struct err err = {0};
  drive->record_at = 0;
  if (run_start(drive->engine->store, drive->record, &err) < 0)
    drive_note(drive, "the start of this run is not in the registry: %s",
               err.text);
}

static int refuse_unwanted(struct err *err) {
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
}

static bool is_unwanted(struct drive *drive) {
  uint64_t count;
  struct store *store = drive->engine->store;
  bool woken = read(drive->live->wake, &count, sizeof count) > 0;
  int asked = drive->replay
                  ? replay_cancel_requested(store, drive->record->task, NULL)
                  : run_cancel_requested(store, drive->record->id, NULL);
  return woken || asked == 1;
}

static void check_wish(struct drive *drive) {
  if (is_unwanted(drive))
    drive_end(drive, RUN_INTERRUPTED);
}

static void do_what_is_due(struct drive *drive) {
  int64_t now = clock_monotonic_ns();
  if (drive->deadline != 0 && now >= drive->deadline)
    drive_end_next(drive);
  if (drive->record_at != 0 && now >= drive->record_at)
    record_start(drive);
  if (drive->dirty && now >= drive->publish_at)
    publish(drive);
  if (drive->trail.flush_at != 0 && now >= drive->trail.flush_at)
    flush_trail(drive);
  if (now >= drive->tick_at) {
    drive->tick_at = now + TICK;
    late_flush(drive->engine, drive->record->task, drive->lease->memory,
               &drive->late);
    if (drive->step == DRIVE_RUNNING)
      check_wish(drive);
  }
  if (drive->sink != NULL && now >= drive->silent_since + KEEPALIVE)
    tell(drive, "keepalive", NULL);
}

static int next_timeout(const struct drive *drive) {
  int64_t next = earliest(drive->deadline, drive->tick_at);
  next = earliest(next, drive->dirty ? drive->publish_at : 0);
  next = earliest(next, drive->trail.flush_at);
  next = earliest(next, drive->record_at);
  next = earliest(next, drive->gather_until);
  next = earliest(next, drive->half_deadline);
  return clock_poll_timeout(next);
}

/* The process is gone: reads what it had still sent. */
static void last_words(struct drive *drive) {
  int mask;
  do {
    mask = channel_wait(drive->lease->cached->channel, NULL, 0, LAST_WORDS_MS,
                        NULL);
  } while (mask > 0 && take_messages(drive, mask, NULL) == 0);
  drive_read_end(drive);
}

static bool half_is_missing(struct drive *drive) {
  if (drive->half_deadline == 0 || client_finished(&drive->execution) ||
      clock_monotonic_ns() < drive->half_deadline)
    return false;
  drive_note(drive, "%s",
             drive->execution.replied
                 ? "the kernel replied but did not publish that it is idle; "
                   "output may be missing"
                 : "the kernel is idle again but sent no reply; whether the "
                   "cell succeeded is told by its outputs alone");
  return true;
}

static int wait_for_kernel(struct drive *drive, struct channel_watch *watches,
                           unsigned count, struct err *err) {
  const unsigned iopub = 1U << CHANNEL_IOPUB;
  struct channel *channel = drive->lease->cached->channel;
  int timeout = next_timeout(drive);
  if (drive->gather_until == 0 || drive->execution.replied)
    return channel_wait(channel, watches, count, timeout, err);
  int mask = channel_wait_on(channel, ~iopub, watches, count, timeout, err);
  if (clock_monotonic_ns() >= drive->gather_until)
    drive->gather_until = 0;
  return mask < 0 ? mask : mask | (int)iopub;
}

static int see_through(struct drive *drive, struct err *err) {
  while (!client_finished(&drive->execution)) {
    struct channel_watch watches[] = {
        {drive->lease->process, POLLIN, 0},
        {drive->step == DRIVE_RUNNING ? drive->live->wake : -1, POLLIN, 0},
    };
    int mask = wait_for_kernel(drive, watches, COUNT_OF(watches), err);
    if (mask < 0 || take_messages(drive, mask, err) < 0)
      return -1;
    if (watches[1].revents != 0)
      check_wish(drive);
    if (watches[0].revents != 0 && (mask == 0 || drive->gather_until != 0)) {
      last_words(drive);
      return 0;
    }
    do_what_is_due(drive);
    if (drive->abandoned || half_is_missing(drive))
      return 0;
  }
  return 0;
}

/* A kernel that has yet to read what was sent to it (an answer for each of
 * thousands of comms) takes no more until it has read some: waits for that,
 * until the deadline. */
static int await_room(struct drive *drive, int64_t deadline, struct err *err) {
  struct channel *channel = drive->lease->cached->channel;
  for (;;) {
    struct channel_watch watches[] = {{drive->lease->process, POLLIN, 0},
                                      {drive->live->wake, POLLIN, 0}};
    int64_t now = clock_monotonic_ns();
    if (now >= deadline)
      return err_set(err, ERR_UNAVAILABLE,
                     "the kernel took no message in time");
    int timeout = clock_poll_timeout(earliest(deadline, now + TICK));
    int got = channel_wait_connected(channel, CHANNEL_SHELL, watches,
                                     COUNT_OF(watches), timeout, err);
    if (got != 0)
      return got < 0 ? -1 : 0;
    if (watches[0].revents != 0)
      return err_set(err, ERR_UNAVAILABLE, "the kernel ended");
    if (!drive->replay && is_unwanted(drive))
      return refuse_unwanted(err);
    if (drive->sink != NULL && now >= drive->silent_since + KEEPALIVE)
      tell(drive, "keepalive", NULL);
  }
}

static int send_within(struct drive *drive,
                       const struct execute_options *options, struct err *err) {
  struct channel *channel = drive->lease->cached->channel;
  const struct run_record *record = drive->record;
  int64_t deadline = earliest(drive->deadline, clock_monotonic_ns() + ROOM);
  struct err fault = {0};
  while (client_execute(channel, record->code, record->code_length, options,
                        &drive->execution, &fault) < 0) {
    if (fault.kind != ERR_UNAVAILABLE)
      return err_set(err, fault.kind, "%s", fault.text);
    if (await_room(drive, deadline, err) < 0)
      return -1;
    err_clear(&fault);
  }
  return 0;
}

static int send(struct drive *drive, struct err *err) {
  struct execute_options options = {
      .silent = drive->record->silent,
      .store_history = !drive->record->silent,
      .allow_stdin = drive->stdin_lines != NULL,
  };
  execution_free(&drive->execution);
  drive->half_deadline = 0;
  if (send_within(drive, &options, err) < 0)
    return -1;
  lease_remember(drive->lease->memory, drive->execution.id,
                 drive->replay ? "" : drive->record->id);
  return 0;
}

static int carry_out(struct drive *drive, struct err *err) {
  enum { ATTEMPTS = 2 };
  if (!drive->replay && is_unwanted(drive))
    return refuse_unwanted(err);
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (send(drive, err) < 0 || see_through(drive, err) < 0)
      return -1;
    /* Some kernels (IRkernel) call a cell aborted that we have interrupted. */
    if (!drive->execution.aborted || drive->step != DRIVE_RUNNING)
      return 0;
  }
  return err_set(err, ERR_UNAVAILABLE,
                 "the kernel aborted the cell without running it, twice");
}

int drive_run(struct drive *drive, struct err *err) {
  int64_t now = clock_monotonic_ns();
  drive->verdict = RUN_OK;
  drive->running_line = -1;
  drive->silent_since = now;
  drive->tick_at = now + TICK;
  drive->record_at = drive->replay ? 0 : now + START_PAUSE;
  drive->gather_until = drive->sink == NULL ? now + GATHER : 0;
  run_trail_begin(&drive->trail, now);
  drive->publish_pause = PUBLISH_PAUSE;
  if (drive->record->timeout_ms > 0)
    drive->deadline = now + drive->record->timeout_ms * CLOCK_MS;
  int result = carry_out(drive, err);
  if (result == 0 && drive->execution.ask_exit && !drive->died)
    drive_await_exit(drive);
  if (drive->step != DRIVE_RUNNING && !drive->died)
    drive_read_line(drive);
  if (drive->execution.page != NULL) {
    live_lock(drive->live);
    collector_add_page(drive->collector, drive->execution.page);
    live_unlock(drive->live);
  }
  late_flush(drive->engine, drive->record->task, drive->lease->memory,
             &drive->late);
  return result;
}
