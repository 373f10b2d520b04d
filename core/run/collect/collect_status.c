/* How the cell ended, and what became of its kernel. */
#include <string.h>

#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/run/collect/collect.h"
#include "core/run/engine/engine_private.h"

/* Python names what an interrupt raises, and what a lack of memory does. */
static bool may_be_interrupted(const struct collect *collect) {
  static const char *const names[] = {"KeyboardInterrupt", "MemoryError"};
  const char *ename =
      json_get_text(outcome_kernel_error(collect->outcome), "ename");
  if (!session_is_python(collect->session))
    return true;
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (ename != NULL && strcmp(ename, names[i]) == 0)
      return true;
  return false;
}

/* A rule of the kernel's jail may have interrupted the cell: to the kernel that
 * is an interrupt like any other. */
static void look_at_rules(struct collect *collect) {
  const struct session *session = collect->session;
  struct outcome *outcome = collect->outcome;
  int64_t started_at = collect->record->started_at;
  if (outcome->status != RUN_ERROR || outcome->died ||
      !may_be_interrupted(collect))
    return;
  CLEANUP(mem_free_pointer)
  struct control_kernel *told = mem_new(sizeof *told);
  if (control_status(collect->engine->keeper_socket, session->kernel->id, told,
                     NULL) < 0)
    return;
  if (told->memory_tight_at >= started_at) {
    outcome->status = RUN_OOM;
    outcome->ended_by = "SIGINT";
    outcome->end.memory_limit = told->memory_limit_bytes;
  } else if (told->workspace_over_at >= started_at) {
    outcome->status = RUN_INTERRUPTED;
    outcome->ended_by = "SIGINT";
    outcome_note(outcome, "the cell was interrupted since the task's files had "
                          "grown beyond what they may hold together: delete "
                          "what is not needed");
  }
}

static char *reason_of_death(const struct outcome *outcome) {
  const char *reason = outcome->end.reason != NULL
                           ? outcome->end.reason
                           : "the kernel ended; how is not known";
  return outcome->execution.ask_exit
             ? mem_format("the cell called exit(): %s", reason)
             : mem_copy_text(reason);
}

void collect_status(struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  outcome->status = outcome_status(outcome);
  /* The number that the next cell will have, too. */
  if (!outcome_was_seen(outcome))
    outcome->execution.execution_count = -1;
  look_at_rules(collect);
  if (outcome->died)
    outcome->kernel_reason = reason_of_death(outcome);
}

void collect_usage(struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  const struct session *session = collect->session;
  const struct meter *meter = session->known->meter;
  int64_t cpu_us = meter_cpu(meter);
  bool known = cpu_us >= 0 && collect->cpu_before_us >= 0;
  outcome->cpu_ms = known ? (cpu_us - collect->cpu_before_us) / 1000 : -1;
  outcome->memory_peak_bytes = meter_peak(meter);
  if (outcome->memory_peak_bytes < 0 && outcome->died &&
      outcome->end.memory_peak > 0)
    outcome->memory_peak_bytes = outcome->end.memory_peak;
}
