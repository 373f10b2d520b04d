#include "core/run/execute.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/engine/engine_private.h"
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
/* What a dead kernel had sent is read until it is quiet for so long; large
 * outputs for so long in all. */
#define LAST_WORDS_MS 30
#define LAST_WORDS (5 * CLOCK_S)
/* How long a kernel may leave no room for the cell. */
#define ROOM (30 * CLOCK_S)
/* A cell that was asked to end gets this long for its last words; then its
 * large outputs are counted, not read, so that a backlog of them does not keep
 * the answer: a deadline is one whatever the kernel sends. */
#define LAST_OUTPUTS (CLOCK_S / 2)
#define LARGE_OUTPUT ((size_t)4 << 10)
/* What the loop may wait for the database in one round: a lock that somebody
 * else holds must not keep it from its deadline. What could not be written is
 * tried again, and at last with the run's end. */
#define STORE_MOMENT (50 * CLOCK_MS)
#define TRY_AGAIN (1 * CLOCK_S)
/* What a kernel may say in the notes. */
#define KERNEL_NOTES 20
#define KERNEL_NOTE_BYTES ((size_t)400)
/* Messages taken from one channel before the others get their turn. */
#define BURST 256

static int64_t earliest(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return a == 0 ? b : a;
  return a < b ? a : b;
}

static void tell(struct execute *execute, const char *type,
                 const struct json *content) {
  if (execute->sink == NULL)
    return;
  execute->sink->event(execute->sink->context, type, content);
  execute->silent_since = clock_monotonic_ns();
}

static void take_output(struct execute *execute,
                        const struct message *message) {
  if (strcmp(message->type, "comm_open") == 0) {
    const char *target = json_get_text(message->content, "target_name");
    if (target == NULL || strncmp(target, "jupyter.widget", 14) != 0)
      client_close_comm(execute->session->channel, message, NULL);
    return;
  }
  if (strcmp(message->type, "error") == 0) {
    json_free(execute->outcome->raised);
    execute->outcome->raised = json_share(message->content);
  }
  int64_t now = clock_monotonic_ns();
  live_lock(execute->live);
  bool changed =
      collector_add(execute->collector, message->type, message->content);
  bool over = collector_hard_limit(execute->collector);
  if (!execute->replay)
    trail_add(&execute->outcome->trail, message->type, message->content, now);
  live_unlock(execute->live);
  tell(execute, message->type, message->content);
  if (changed && !execute->dirty) {
    execute->dirty = true;
    execute->publish_at = now + execute->publish_pause;
  }
  if (over)
    ladder_begin(&execute->ladder, RUN_OUTPUT_LIMIT);
}

/* A thread of an earlier cell may update what this one shows. */
static bool updates_shown(const struct execute *execute,
                          const struct message *message) {
  return strcmp(message->type, "update_display_data") == 0 &&
         collector_shows(execute->collector, message->content);
}

/* Lines given with the request in order, then the end of the input. Kernels
 * other than Python's know no end, and some ask although they were told that
 * there is nobody to ask (IRkernel): an empty line is all they can get. */
static void answer_input(struct execute *execute,
                         const struct message *message) {
  const char *line =
      json_text(json_at(execute->stdin_lines, execute->lines_given));
  bool python = session_is_python(execute->session);
  if (line != NULL)
    execute->lines_given++;
  else if (!python) {
    line = "";
    outcome_note(execute->outcome,
                 "the cell asked for a line of input that was not given "
                 "with the request; it got an empty one");
  }
  struct err err = {0};
  if (client_input(execute->session->channel, message, line, &err) < 0)
    outcome_note(execute->outcome, "input() was not answered: %s", err.text);
}

static void observe(struct execute *execute, enum channel_name from,
                    const struct message *message) {
  if (message->skipped) {
    execute->outputs_skipped++;
    return;
  }
  switch (client_observe(&execute->outcome->execution, from, message)) {
  case CLIENT_OUTPUT:
    take_output(execute, message);
    break;
  case CLIENT_FOREIGN:
    if (updates_shown(execute, message))
      take_output(execute, message);
    else
      late_take(execute->engine, execute->session->known,
                &execute->outcome->late, message);
    break;
  case CLIENT_INPUT:
    answer_input(execute, message);
    break;
  case CLIENT_NOTHING:
    break;
  }
  if (execute->outcome->execution.replied != execute->outcome->execution.idle &&
      execute->half_deadline == 0)
    execute->half_deadline = clock_monotonic_ns() + OTHER_HALF_PATIENCE;
}

static bool is_overdue(const struct execute *execute) {
  int64_t deadline = execute->ladder.deadline;
  return deadline != 0 && clock_monotonic_ns() >= deadline;
}

static int take_messages(struct execute *execute, int mask, struct err *err) {
  for (int name = 0; name < CHANNEL_HEARTBEAT; name++) {
    for (int i = 0;
         (mask & 1 << name) != 0 && i < BURST && !is_overdue(execute); i++) {
      CLEANUP(message_free) struct message message = {0};
      int got = channel_receive(execute->session->channel,
                                (enum channel_name)name, &message, err);
      if (got < 0)
        return -1;
      if (got == 0)
        break;
      observe(execute, (enum channel_name)name, &message);
    }
  }
  return 0;
}

static void publish(struct execute *execute) {
  execute->dirty = false;
  execute->publish_at = 0;
  if (execute->cell == NULL)
    return;
  struct known_kernel *known = execute->session->known;
  int64_t start = clock_monotonic_ns();
  live_lock(execute->live);
  CLEANUP(json_done)
  struct json *outputs = collector_outputs(execute->collector);
  live_unlock(execute->live);
  struct code_cell cell = *execute->cell;
  cell.outputs = outputs;
  cell.execution_count = execute->outcome->execution.execution_count;
  struct err err = {0};
  struct task_notebook_kernel kernel =
      session_notebook_kernel(execute->session);
  task_notebook_put(execute->engine, execute->record->task, &known->notebook,
                    &kernel, &cell, &err);
  int64_t cost = clock_monotonic_ns() - start;
  execute->publish_pause =
      10 * cost > PUBLISH_PAUSE ? 10 * cost : PUBLISH_PAUSE;
}

static void flush_trail(struct execute *execute) {
  struct trail *trail = &execute->outcome->trail;
  struct event_record *events = NULL;
  int64_t now = clock_monotonic_ns();
  live_lock(execute->live);
  size_t count = trail_take(trail, execute->record->task, execute->record->id,
                            now, &events);
  live_unlock(execute->live);
  bool recorded =
      event_append(execute->engine->store, events, count, NULL) == 0;
  live_lock(execute->live);
  if (recorded)
    trail_note_recorded(trail);
  else
    trail_put_back(trail, events, count, now + TRY_AGAIN);
  live_unlock(execute->live);
  trail_events_free(events, count);
}

/* The row is durable since it was queued. That it runs is written once it has
 * run for a moment; for a shorter run its end tells both, in one transaction.
 */
static void record_start(struct execute *execute) {
  struct err err = {0};
  execute->record_at = 0;
  if (run_start(execute->engine->store, execute->record, &err) >= 0)
    return;
  if (err.kind == ERR_UNAVAILABLE || err.kind == ERR_NO_SPACE)
    execute->record_at = clock_monotonic_ns() + TRY_AGAIN;
  else
    outcome_note(execute->outcome,
                 "the start of this run is not in the registry: %s", err.text);
}

static int refuse_unwanted(struct err *err) {
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
}

static bool is_unwanted(struct execute *execute) {
  uint64_t count;
  struct store *store = execute->engine->store;
  bool woken = read(execute->live->wake, &count, sizeof count) > 0;
  int asked = execute->replay
                  ? replay_cancel_requested(store, execute->record->task, NULL)
                  : run_cancel_requested(store, execute->record->id, NULL);
  return woken || asked == 1;
}

static void check_wish(struct execute *execute) {
  if (is_unwanted(execute))
    ladder_begin(&execute->ladder, RUN_INTERRUPTED);
}

static void do_what_is_due(struct execute *execute) {
  int64_t now = clock_monotonic_ns();
  store_set_patience(STORE_MOMENT);
  if (execute->ladder.deadline != 0 && now >= execute->ladder.deadline)
    ladder_next(&execute->ladder);
  if (execute->ladder.step != LADDER_RUNNING && execute->skip_at == 0)
    execute->skip_at = now + LAST_OUTPUTS;
  if (execute->skip_at != 0 && now >= execute->skip_at)
    channel_skip_outputs(execute->session->channel, LARGE_OUTPUT);
  if (execute->record_at != 0 && now >= execute->record_at)
    record_start(execute);
  if (execute->dirty && now >= execute->publish_at)
    publish(execute);
  if (execute->outcome->trail.flush_at != 0 &&
      now >= execute->outcome->trail.flush_at)
    flush_trail(execute);
  if (now >= execute->tick_at) {
    execute->tick_at = now + TICK;
    late_flush(execute->engine, execute->session->known,
               &execute->outcome->late);
    if (execute->ladder.step == LADDER_RUNNING)
      check_wish(execute);
  }
  if (execute->sink != NULL && now >= execute->silent_since + KEEPALIVE)
    tell(execute, "keepalive", NULL);
}

static int next_timeout(const struct execute *execute) {
  int64_t next = earliest(execute->ladder.deadline, execute->tick_at);
  next = earliest(next, execute->dirty ? execute->publish_at : 0);
  next = earliest(next, execute->outcome->trail.flush_at);
  next = earliest(next, execute->record_at);
  next = earliest(next, execute->gather_until);
  next = earliest(next, execute->half_deadline);
  if (clock_monotonic_ns() < execute->skip_at)
    next = earliest(next, execute->skip_at);
  return clock_poll_timeout(next);
}

/* The process is gone: reads what it had still sent. */
static void last_words(struct execute *execute) {
  struct channel *channel = execute->session->channel;
  int64_t skip_at = execute->skip_at != 0
                        ? execute->skip_at
                        : earliest(execute->ladder.deadline,
                                   clock_monotonic_ns() + LAST_WORDS);
  execute->ladder.deadline = 0;
  int mask;
  do {
    if (clock_monotonic_ns() >= skip_at)
      channel_skip_outputs(channel, LARGE_OUTPUT);
    mask = channel_wait(channel, NULL, 0, LAST_WORDS_MS, NULL);
  } while (mask > 0 && take_messages(execute, mask, NULL) == 0);
  ladder_read_end(&execute->ladder);
}

static bool half_is_missing(struct execute *execute) {
  if (execute->half_deadline == 0 ||
      client_finished(&execute->outcome->execution) ||
      clock_monotonic_ns() < execute->half_deadline)
    return false;
  execute->outcome->unheard = execute->outcome->execution.replied;
  outcome_note(execute->outcome, "%s",
               execute->outcome->execution.replied
                   ? "the kernel replied but did not publish that it is idle; "
                     "output may be missing (a message of more than 128 MiB "
                     "is not received)"
                   : "the kernel is idle again but sent no reply; whether the "
                     "cell succeeded is told by its outputs alone");
  return true;
}

static int wait_for_kernel(struct execute *execute,
                           struct channel_watch *watches, unsigned count,
                           struct err *err) {
  const unsigned iopub = 1U << CHANNEL_IOPUB;
  struct channel *channel = execute->session->channel;
  int timeout = next_timeout(execute);
  if (execute->gather_until == 0 || execute->outcome->execution.replied)
    return channel_wait(channel, watches, count, timeout, err);
  int mask = channel_wait_on(channel, ~iopub, watches, count, timeout, err);
  if (clock_monotonic_ns() >= execute->gather_until)
    execute->gather_until = 0;
  return mask < 0 ? mask : mask | (int)iopub;
}

static int see_through(struct execute *execute, struct err *err) {
  while (!client_finished(&execute->outcome->execution)) {
    struct channel_watch watches[] = {
        {execute->session->process, POLLIN, 0},
        {execute->ladder.step == LADDER_RUNNING ? execute->live->wake : -1,
         POLLIN, 0},
    };
    int mask = wait_for_kernel(execute, watches, COUNT_OF(watches), err);
    if (mask < 0 || take_messages(execute, mask, err) < 0)
      return -1;
    if (watches[1].revents != 0)
      check_wish(execute);
    if (watches[0].revents != 0 && (mask == 0 || execute->gather_until != 0)) {
      last_words(execute);
      return 0;
    }
    do_what_is_due(execute);
    if (execute->outcome->abandoned || half_is_missing(execute))
      return 0;
  }
  return 0;
}

/* A kernel that has yet to read what was sent to it (an answer for each of
 * thousands of comms) takes no more until it has read some: waits for that,
 * until the deadline. */
static int await_room(struct execute *execute, int64_t deadline,
                      struct err *err) {
  struct channel *channel = execute->session->channel;
  for (;;) {
    struct channel_watch watches[] = {{execute->session->process, POLLIN, 0},
                                      {execute->live->wake, POLLIN, 0}};
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
    if (!execute->replay && is_unwanted(execute))
      return refuse_unwanted(err);
    if (execute->sink != NULL && now >= execute->silent_since + KEEPALIVE)
      tell(execute, "keepalive", NULL);
  }
}

static int send_within(struct execute *execute,
                       const struct execute_options *options, struct err *err) {
  struct channel *channel = execute->session->channel;
  const struct run_record *record = execute->record;
  int64_t deadline =
      earliest(execute->ladder.deadline, clock_monotonic_ns() + ROOM);
  struct err fault = {0};
  queue_note_begun(execute->turn, record->id);
  while (client_execute(channel, record->code, record->code_length, options,
                        &execute->outcome->execution, &fault) < 0) {
    if (fault.kind != ERR_UNAVAILABLE)
      return err_set(err, fault.kind, "%s", fault.text);
    if (await_room(execute, deadline, err) < 0)
      return -1;
    err_clear(&fault);
  }
  return 0;
}

static int send(struct execute *execute, struct err *err) {
  struct execute_options options = {
      .silent = execute->record->silent,
      .store_history = !execute->record->silent,
      .allow_stdin = execute->stdin_lines != NULL,
  };
  execution_free(&execute->outcome->execution);
  execute->half_deadline = 0;
  if (send_within(execute, &options, err) < 0)
    return -1;
  known_kernel_remember(execute->session->known, execute->outcome->execution.id,
                        execute->replay ? "" : execute->record->id);
  return 0;
}

static int carry_out(struct execute *execute, struct err *err) {
  enum { ATTEMPTS = 2 };
  if (!execute->replay && is_unwanted(execute))
    return refuse_unwanted(err);
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (send(execute, err) < 0 || see_through(execute, err) < 0)
      return -1;
    /* Some kernels (IRkernel) call a cell aborted that we have interrupted. */
    if (!execute->outcome->execution.aborted ||
        execute->ladder.step != LADDER_RUNNING)
      return 0;
  }
  return err_set(err, ERR_UNAVAILABLE,
                 "the kernel aborted the cell without running it, twice");
}

static void begin(struct execute *execute) {
  int64_t now = clock_monotonic_ns();
  const struct run_record *record = execute->record;
  execute->outcome->verdict = RUN_OK;
  execute->outcome->running_line = -1;
  execute->silent_since = now;
  execute->tick_at = now + TICK;
  execute->record_at = execute->replay ? 0 : now + START_PAUSE;
  execute->gather_until = execute->sink == NULL ? now + GATHER : 0;
  execute->publish_pause = PUBLISH_PAUSE;
  trail_begin(&execute->outcome->trail, now);
  execute->ladder = (struct ladder){
      .engine = execute->engine,
      .session = execute->session,
      .code = record->code,
      .code_length = record->code_length,
      .outcome = execute->outcome,
      .deadline =
          record->timeout_ms > 0 ? now + record->timeout_ms * CLOCK_MS : 0,
  };
}

/* What the kernel sent since, and nobody could read. */
static void note_dropped(struct execute *execute, uint64_t before) {
  uint64_t count = channel_dropped(execute->session->channel) - before;
  if (count > 0)
    outcome_note(execute->outcome,
                 "%llu message%s of the kernel broke the protocol, or had more "
                 "than %lld bytes: output may be missing",
                 (unsigned long long)count, count == 1 ? "" : "s",
                 (long long)CHANNEL_MESSAGE_MAX);
}

/* What the kernel says of the cell, within bounds: the user's code can say the
 * same. */
static void take_notes(struct outcome *outcome) {
  const struct json *notes = outcome->execution.notes;
  for (size_t i = 0; i < json_length(notes) && i < KERNEL_NOTES; i++) {
    const struct json *note = json_at(notes, i);
    if (json_text(note) != NULL)
      outcome_note(outcome, "%.*s",
                   (int)utf8_cut(json_text(note), json_text_length(note),
                                 KERNEL_NOTE_BYTES),
                   json_text(note));
  }
}

int execute_cell(struct execute *execute, struct err *err) {
  struct outcome *outcome = execute->outcome;
  uint64_t dropped = channel_dropped(execute->session->channel);
  begin(execute);
  int result = carry_out(execute, err);
  note_dropped(execute, dropped);
  if (result == 0 && outcome->execution.ask_exit && !outcome->died)
    ladder_await_exit(&execute->ladder);
  if (execute->ladder.step != LADDER_RUNNING && !outcome->died)
    ladder_read_line(&execute->ladder);
  if (outcome->execution.page != NULL) {
    live_lock(execute->live);
    collector_add_page(execute->collector, outcome->execution.page);
    live_unlock(execute->live);
  }
  channel_skip_outputs(execute->session->channel, 0);
  if (execute->outputs_skipped > 0)
    outcome_note(outcome,
                 "%lld large outputs that waited when the cell was ended are "
                 "left out",
                 (long long)execute->outputs_skipped);
  take_notes(outcome);
  late_flush(execute->engine, execute->session->known, &outcome->late);
  return result;
}
