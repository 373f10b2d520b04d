/* What the kernel's messages do while its cell runs. */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/run/execute.h"

/* A run has ended when the kernel has replied and is idle. Once one of both has
 * come, the other one, which some kernels forget, is not waited for longer. */
#define OTHER_HALF_PATIENCE (4 * CLOCK_S)
/* Messages taken from one channel before the others get their turn. */
#define BURST 256

void execute_tell(struct execute *execute, const char *type,
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
  /* One that names nothing says nothing. */
  if (strcmp(message->type, "error") == 0 &&
      json_get_text(message->content, "ename") != NULL) {
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
  execute_tell(execute, message->type, message->content);
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

int execute_take_messages(struct execute *execute, int mask, struct err *err) {
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
