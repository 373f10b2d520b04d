/* The error of a run, for people and models: what the kernel said, or what
 * became of the kernel, with a hint. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/report/hint/hint.h"
#include "core/report/traceback/traceback.h"
#include "core/run/conclude.h"
#include "core/run/engine_private.h"
#include "core/run/quiet.h"

/* The probe looks at names and directories: milliseconds. A kernel that does
 * not answer by then is not asked again. */
#define PROBE_PATIENCE (1 * CLOCK_S)

const struct json *conclude_kernel_error(const struct conclusion *c) {
  for (size_t i = json_length(c->outputs); i-- > 0;) {
    const struct json *output = json_at(c->outputs, i);
    const char *type = json_get_text(output, "output_type");
    if (type != NULL && strcmp(type, "error") == 0)
      return output;
  }
  return c->drive->execution.failed ? c->drive->execution.error : NULL;
}

/* What stands in for an error when the kernel could say none. */
static struct json *own_error(const struct conclusion *c) {
  static const struct {
    enum run_status status;
    const char *ename;
  } names[] = {
      {RUN_TIMEOUT, "Timeout"},          {RUN_INTERRUPTED, "Interrupted"},
      {RUN_OUTPUT_LIMIT, "OutputLimit"}, {RUN_OOM, "OutOfMemory"},
      {RUN_KERNEL_DIED, "KernelDied"},   {RUN_ERROR, "NoReply"},
  };
  const struct run_record *record = c->record;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (names[i].status != record->status)
      continue;
    struct json *error = json_object();
    json_set_text(error, "ename", names[i].ename);
    CLEANUP(mem_free_pointer)
    char *text =
        record->status == RUN_TIMEOUT
            ? mem_format("the cell did not end within %g s",
                         (double)record->timeout_ms / 1000.0)
        : record->status == RUN_INTERRUPTED
            ? mem_copy_text("the cell was interrupted on request")
        : record->status == RUN_OUTPUT_LIMIT
            ? mem_format("the cell wrote %lld bytes; more than %lld end a "
                         "run (limits.output_bytes_hard)",
                         (long long)record->output_bytes,
                         (long long)c->drive->engine->conf->output_bytes_hard)
        : record->status == RUN_ERROR
            ? mem_copy_text("the kernel became idle but sent neither a reply "
                            "nor any output: nothing says that it ran the cell")
            : mem_copy_text(record->kernel_reason);
    json_set_text(error, "evalue", text);
    json_set(error, "traceback", json_array());
    return error;
  }
  return NULL;
}

static void late_other(void *context, const struct message *message) {
  const struct conclusion *c = context;
  late_take(c->drive->engine, c->record->task, c->drive->lease->memory,
            &c->drive->late, message);
}

static struct json *probe(const struct conclusion *c, const char *language,
                          const char *ename) {
  if (c->record->status != RUN_ERROR || c->drive->died || c->drive->abandoned ||
      !conclude_was_seen(c))
    return NULL;
  const char *expression = hint_probe_expression(language, ename);
  if (expression == NULL)
    return NULL;
  CLEANUP(json_done) struct json *expressions = json_object();
  json_set_text(expressions, "probe", expression);
  CLEANUP(execution_free) struct execution execution = {0};
  struct quiet_other other = {(void *)(uintptr_t)c, late_other};
  if (quiet_execute(c->drive->lease->cached->channel, c->drive->lease->process,
                    "", expressions, clock_monotonic_ns() + PROBE_PATIENCE,
                    &other, &execution, NULL) < 0)
    return NULL;
  /* Threads may write under this parent from now on: it is still this run. */
  lease_remember(c->drive->lease->memory, execution.id, c->record->id);
  return hint_probe_result(execution.user_expressions);
}

static int compose_hint(const struct conclusion *c, const struct json *error,
                        const struct json *seen, struct buf *out) {
  const struct run_record *record = c->record;
  const struct drive *drive = c->drive;
  char line[32] = "";
  if (drive->running_line > 0)
    snprintf(line, sizeof line, "%lld", (long long)drive->running_line);
  struct hint_source source = {
      .status = run_status_name(record->status),
      .ename = json_get_text(error, "ename"),
      .evalue = json_get_text(error, "evalue"),
      .language = drive->lease->cached->info.language,
      .probe = seen,
      .packages_allowed = false,
      .state_kept = !drive->died,
      .wall_ms = (record->ended_at - record->started_at) / 1000,
      .timeout_ms = record->timeout_ms,
      .memory_peak = record->memory_peak_bytes,
      .memory_limit = drive->end.memory_limit,
      .running_line = line[0] == '\0' ? NULL : line,
  };
  return hint_compose(&source, out);
}

struct json *conclude_error(const struct conclusion *c) {
  const struct json *said = conclude_kernel_error(c);
  CLEANUP(json_done) struct json *own = said == NULL ? own_error(c) : NULL;
  const struct json *error = said != NULL ? said : own;
  if (error == NULL)
    return NULL;
  const char *language = c->drive->lease->cached->info.language;
  const char *ename = json_get_text(error, "ename");
  CLEANUP(json_done)
  struct json *seen = probe(c, language, ename == NULL ? "" : ename);
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_SMALL);
  compose_hint(c, error, seen, &hint);
  struct traceback_source source = {
      .error = error,
      .code = c->record->code,
      .code_length = c->record->code_length,
      .language = language,
      .execution_count = c->drive->execution.execution_count,
      .style = c->traceback,
      .probe = seen,
      .hint = hint.length == 0 ? NULL : buf_string(&hint),
  };
  struct json *report = traceback_report(&source);
  if (json_get(report, "line") == NULL)
    traceback_set_place(report, c->record->code, c->record->code_length,
                        c->drive->running_line);
  return report;
}
