/* The error of a run, for people and models: what the kernel said, or what
 * became of the kernel, with a hint. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/report/hint/hint.h"
#include "core/report/traceback/traceback.h"
#include "core/run/collect/collect.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/silent.h"

/* The probe looks at names and directories: milliseconds. A kernel that does
 * not answer by then is not asked again. */
#define PROBE_PATIENCE (1 * CLOCK_S)

/* What stands in for an error when the kernel could say none. */
static struct json *own_error(const struct collect *collect) {
  static const struct {
    enum run_status status;
    const char *ename;
  } names[] = {
      {RUN_TIMEOUT, "Timeout"},          {RUN_INTERRUPTED, "Interrupted"},
      {RUN_OUTPUT_LIMIT, "OutputLimit"}, {RUN_OOM, "OutOfMemory"},
      {RUN_KERNEL_DIED, "KernelDied"},   {RUN_ERROR, "NoReply"},
  };
  const struct outcome *outcome = collect->outcome;
  const struct conf *conf = collect->engine->conf;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (names[i].status != outcome->status)
      continue;
    struct json *error = json_object();
    json_set_text(error, "ename", names[i].ename);
    CLEANUP(mem_free_pointer)
    char *text =
        outcome->status == RUN_TIMEOUT
            ? mem_format("the cell did not end within %g s",
                         (double)collect->record->timeout_ms / 1000.0)
        : outcome->status == RUN_INTERRUPTED
            ? mem_copy_text("the cell was interrupted on request")
        : outcome->status == RUN_OUTPUT_LIMIT
            ? mem_format("the cell wrote %lld bytes; more than %lld end a "
                         "run (limits.output_bytes_hard)",
                         (long long)outcome->output_bytes,
                         (long long)conf->output_bytes_hard)
        : outcome->status == RUN_ERROR
            ? mem_copy_text("the kernel became idle but sent neither a reply "
                            "nor any output: nothing says that it ran the cell")
            : mem_copy_text(outcome->kernel_reason);
    json_set_text(error, "evalue", text);
    json_set(error, "traceback", json_array());
    return error;
  }
  return NULL;
}

static void late_other(void *context, const struct message *message) {
  const struct collect *collect = context;
  late_take(collect->engine, collect->session->known, &collect->outcome->late,
            message);
}

static struct json *probe(const struct collect *collect, const char *language,
                          const char *ename) {
  const struct session *session = collect->session;
  const struct outcome *outcome = collect->outcome;
  if (outcome->status != RUN_ERROR || outcome->died || outcome->abandoned ||
      !outcome_was_seen(outcome))
    return NULL;
  const char *expression = hint_probe_expression(language, ename);
  if (expression == NULL)
    return NULL;
  CLEANUP(json_done) struct json *expressions = json_object();
  json_set_text(expressions, "probe", expression);
  CLEANUP(execution_free) struct execution execution = {0};
  struct silent_other other = {(void *)(uintptr_t)collect, late_other};
  if (silent_execute(session->channel, session->process, "", expressions,
                     clock_monotonic_ns() + PROBE_PATIENCE, &other, &execution,
                     NULL) < 0)
    return NULL;
  /* Threads may write under this parent from now on: it is still this run. */
  known_kernel_remember(session->known, execution.id, collect->record->id);
  return hint_probe_result(execution.user_expressions);
}

static int compose_hint(const struct collect *collect, const struct json *error,
                        const struct json *seen, struct buf *out) {
  const struct session *session = collect->session;
  const struct run_record *record = collect->record;
  const struct outcome *outcome = collect->outcome;
  char line[32] = "";
  if (outcome->running_line > 0)
    snprintf(line, sizeof line, "%lld", (long long)outcome->running_line);
  struct hint_source source = {
      .status = run_status_name(outcome->status),
      .ename = json_get_text(error, "ename"),
      .evalue = json_get_text(error, "evalue"),
      .language = session->info->language,
      .probe = seen,
      .outputs = outcome->outputs,
      .packages_allowed = false,
      .state_kept = !outcome->died,
      .wall_ms = (outcome->ended_at - record->started_at) / 1000,
      .timeout_ms = record->timeout_ms,
      .memory_peak = outcome->memory_peak_bytes,
      .memory_limit = outcome->end.memory_limit,
      .running_line = line[0] == '\0' ? NULL : line,
  };
  return hint_compose(&source, out);
}

static struct json *report(const struct collect *collect) {
  const struct session *session = collect->session;
  const struct run_record *record = collect->record;
  const struct outcome *outcome = collect->outcome;
  const struct json *said = outcome_kernel_error(outcome);
  CLEANUP(json_done)
  struct json *own = said == NULL ? own_error(collect) : NULL;
  const struct json *error = said != NULL ? said : own;
  if (error == NULL)
    return NULL;
  const char *language = session->info->language;
  const char *ename = json_get_text(error, "ename");
  CLEANUP(json_done)
  struct json *seen = probe(collect, language, ename == NULL ? "" : ename);
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_SMALL);
  compose_hint(collect, error, seen, &hint);
  struct traceback_source source = {
      .error = error,
      .code = record->code,
      .code_length = record->code_length,
      .language = language,
      .execution_count = outcome->execution.execution_count,
      .style = collect->traceback,
      .probe = seen,
      .hint = hint.length == 0 ? NULL : buf_string(&hint),
  };
  struct json *report = traceback_report(&source);
  if (json_get(report, "line") == NULL)
    traceback_set_place(report, record->code, record->code_length,
                        outcome->running_line);
  return report;
}

void collect_error(struct collect *collect) {
  collect->outcome->error = report(collect);
  /* The probe for the hint may have met some more. */
  late_flush(collect->engine, collect->session->known, &collect->outcome->late);
}
