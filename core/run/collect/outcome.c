#include "core/run/collect/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

void outcome_free(struct outcome *outcome) {
  execution_free(&outcome->execution);
  json_free(outcome->raised);
  kernel_record_free(&outcome->end);
  trail_done(&outcome->trail);
  collector_done(&outcome->late.collector);
  json_free(outcome->outputs);
  free(outcome->kernel_reason);
  free(outcome->media);
  json_free(outcome->images);
  json_free(outcome->files);
  json_free(outcome->truncated);
  json_free(outcome->error);
  free(outcome->text);
  json_free(outcome->notes);
}

void outcome_note(struct outcome *outcome, const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (outcome->notes == NULL)
    outcome->notes = json_array();
  json_push(outcome->notes, json_string(text));
}

bool outcome_was_seen(const struct outcome *outcome) {
  return outcome->execution.replied || json_length(outcome->outputs) > 0 ||
         outcome->output_bytes > 0;
}

const struct json *outcome_kernel_error(const struct outcome *outcome) {
  const struct execution *execution = &outcome->execution;
  return outcome->raised != NULL || !execution->failed ? outcome->raised
                                                       : execution->error;
}

enum run_status outcome_status(const struct outcome *outcome) {
  const struct execution *execution = &outcome->execution;
  bool finished =
      client_finished(execution) || (execution->replied && !outcome->died);
  if (outcome->died && outcome->end.end == KERNEL_END_OOM)
    return RUN_OOM;
  if (outcome->verdict != RUN_OK)
    return outcome->verdict;
  if (outcome->died && !(finished && execution->ask_exit))
    return RUN_KERNEL_DIED;
  bool failed = execution->failed || outcome->raised != NULL ||
                !outcome_was_seen(outcome);
  return failed ? RUN_ERROR : RUN_OK;
}
