#include "core/run/failure.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/report/hint/hint.h"
#include "core/report/text.h"
#include "core/run/engine/engine_private.h"

static const char *name_of(enum run_status status) {
  switch (status) {
  case RUN_CANCELLED:
    return "Cancelled";
  case RUN_LOST:
    return "Lost";
  default:
    return "NotRun";
  }
}

static struct json *error_of(enum run_status status, const char *why,
                             const char *stderr_tail) {
  struct json *error = json_object();
  json_set_text(error, "ename", name_of(status));
  json_set_text(error, "evalue", why);
  json_set(error, "traceback", json_array());
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_SMALL);
  struct hint_source source = {.status = run_status_name(status)};
  hint_compose(&source, &hint);
  json_set_text(error, "hint", hint.length == 0 ? NULL : buf_string(&hint));
  if (stderr_tail != NULL)
    json_set_text(error, "stderr", stderr_tail);
  return error;
}

void failure_describe(struct run_record *record, const char *why,
                      const char *stderr_tail, size_t limit) {
  json_free(record->error);
  record->error = error_of(record->status, why, stderr_tail);
  struct text_source source = {.status = run_status_name(record->status),
                               .error = record->error,
                               .limit = limit};
  CLEANUP(buf_free) struct buf prompt = BUF_INIT(BUF_SMALL);
  if (text_prompt(&source, &prompt) == 0)
    json_set_text(record->error, "prompt", buf_string(&prompt));
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  source.kernel_reason = why;
  free(record->text);
  record->text = NULL;
  if (text_compose(&source, &text) == 0)
    record->text = buf_take(&text);
}

void failure_close(struct engine *engine, struct run_record *record,
                   const struct err *why, const char *stderr_tail,
                   size_t limit) {
  record->status = why->kind == ERR_CONFLICT ? RUN_CANCELLED : RUN_NOT_RUN;
  record->ended_at = run_record_now(record);
  record->execution_count = -1;
  record->cpu_ms = record->memory_peak_bytes = record->output_bytes = -1;
  failure_describe(record, why->text, stderr_tail, limit);
  CLEANUP(json_done) struct json *none = json_array();
  struct run_ending ending = {.record = record, .outputs = none};
  engine_finish_run(engine, &ending, NULL);
}

void failure_report(const struct run_record *record, struct json **details) {
  if (details == NULL)
    return;
  *details = json_object();
  json_set_text(*details, "run", record->id);
  json_set_text(*details, "task", record->task);
  const char *stderr_tail = json_get_text(record->error, "stderr");
  if (stderr_tail != NULL)
    json_set_text(*details, "stderr", stderr_tail);
}
