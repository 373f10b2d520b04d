#include "core/run/execute.h"

#include <poll.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/engine/engine_private.h"

/* A run that ends sooner tells its start together with its end. */
#define START_PAUSE (8 * CLOCK_MS)
/* A short run's outputs are read together with its reply, unless somebody
 * watches: each message alone would wake this thread, beside the kernel. */
#define GATHER (30 * CLOCK_MS)
/* What a dead kernel had sent is read until it is quiet for so long; large
 * outputs for so long in all. */
#define LAST_WORDS_MS 30
#define LAST_WORDS (5 * CLOCK_S)
/* How long a kernel may leave no room for the cell. */
#define ROOM (30 * CLOCK_S)
/* What a kernel may say in the notes. */
#define KERNEL_NOTES 20
#define KERNEL_NOTE_BYTES ((size_t)400)

/* The process is gone: reads what it had still sent. */
static void last_words(struct execute *execute) {
  struct channel *channel = execute->session->channel;
  int64_t skip_at = execute->skip_at != 0
                        ? execute->skip_at
                        : execute_earliest(execute->ladder.deadline,
                                           clock_monotonic_ns() + LAST_WORDS);
  execute->ladder.deadline = 0;
  int mask;
  do {
    if (clock_monotonic_ns() >= skip_at)
      channel_skip_outputs(channel, EXECUTE_LARGE_OUTPUT);
    mask = channel_wait(channel, NULL, 0, LAST_WORDS_MS, NULL);
  } while (mask > 0 && execute_take_messages(execute, mask, NULL) == 0);
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
  int timeout = execute_next_timeout(execute);
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
    if (mask < 0 || execute_take_messages(execute, mask, err) < 0)
      return -1;
    if (watches[1].revents != 0)
      execute_check_wish(execute);
    if (watches[0].revents != 0 && (mask == 0 || execute->gather_until != 0)) {
      last_words(execute);
      return 0;
    }
    execute_do_due(execute);
    if (execute->outcome->abandoned || half_is_missing(execute))
      return 0;
  }
  return 0;
}

static int refuse_unwanted(struct err *err) {
  return err_set(err, ERR_CONFLICT, "cancelled while it was queued");
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
    int timeout =
        clock_poll_timeout(execute_earliest(deadline, now + EXECUTE_TICK));
    int got = channel_wait_connected(channel, CHANNEL_SHELL, watches,
                                     COUNT_OF(watches), timeout, err);
    if (got != 0)
      return got < 0 ? -1 : 0;
    if (watches[0].revents != 0)
      return err_set(err, ERR_UNAVAILABLE, "the kernel ended");
    if (!execute->replay && execute_is_unwanted(execute))
      return refuse_unwanted(err);
    if (execute->sink != NULL &&
        now >= execute->silent_since + EXECUTE_KEEPALIVE)
      execute_tell(execute, "keepalive", NULL);
  }
}

static int send_within(struct execute *execute,
                       const struct execute_options *options, struct err *err) {
  struct channel *channel = execute->session->channel;
  const struct run_record *record = execute->record;
  int64_t deadline =
      execute_earliest(execute->ladder.deadline, clock_monotonic_ns() + ROOM);
  struct err fault = {0};
  queue_note_begun(execute->turn, record->id,
                   !endings_wait(execute->engine->endings));
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
  if (!execute->replay && execute_is_unwanted(execute))
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
  execute->tick_at = now + EXECUTE_TICK;
  execute->record_at = execute->replay ? 0 : now + START_PAUSE;
  execute->gather_until = execute->sink == NULL ? now + GATHER : 0;
  execute->publish_pause = EXECUTE_PUBLISH_PAUSE;
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
