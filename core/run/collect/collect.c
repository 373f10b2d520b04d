#include "core/run/collect/collect.h"

#include "core/notebook/outputs.h"
#include "core/run/engine/engine_private.h"

void collect_begin(struct collect *collect) {
  struct err err = {0};
  const struct conf *conf = collect->engine->conf;
  const struct session *session = collect->session;
  const struct meter *meter = session->known->meter;
  if (workspace_scan(collect->files_directory, (size_t)conf->files_scanned,
                     &collect->before, &err) < 0)
    outcome_note(collect->outcome, "changed files are not listed: %s",
                 err.text);
  meter_begin(meter);
  collect->cpu_before_us = meter_cpu(meter);
}

void collect_done(struct collect *collect) { workspace_done(&collect->before); }

static void set_dropped(struct json *truncated, const char *key,
                        uint64_t count) {
  if (count > 0)
    json_set_integer(truncated, key, (int64_t)count);
}

static struct json *truncation(const struct collect *collect) {
  struct output_dropped dropped;
  collector_dropped(collect->collector, &dropped);
  struct json *truncated = json_object();
  set_dropped(truncated, "stdout", dropped.stdout_bytes);
  set_dropped(truncated, "stdout_lines", dropped.stdout_lines);
  set_dropped(truncated, "stderr", dropped.stderr_bytes);
  set_dropped(truncated, "stderr_lines", dropped.stderr_lines);
  set_dropped(truncated, "outputs", dropped.outputs);
  set_dropped(truncated, "values", dropped.values);
  set_dropped(truncated, "value_bytes", dropped.value_bytes);
  set_dropped(truncated, "files", collect->outcome->files_omitted);
  if (json_length(truncated) == 0)
    json_done(&truncated);
  return truncated;
}

static void collect_outputs(struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  outcome->ended_at = run_record_now(collect->record);
  live_lock(collect->live);
  outcome->outputs = collector_outputs(collect->collector);
  live_unlock(collect->live);
  outcome->output_bytes = (int64_t)collector_bytes(collect->collector);
}

/* A kernel that is gone cannot say so: its cell does, in answer, registry and
 * notebook. */
static void tell_death(struct outcome *outcome) {
  if (outcome->died && outcome->status != RUN_OK)
    json_push(outcome->outputs,
              outputs_error("KernelDied", outcome->kernel_reason));
}

void collect_outcome(struct collect *collect) {
  collect_outputs(collect);
  collect_status(collect);
  collect_usage(collect);
  collect_media(collect);
  collect_files(collect);
  collect->outcome->truncated = truncation(collect);
  collect_error(collect);
  collect_text(collect);
  tell_death(collect->outcome);
}
