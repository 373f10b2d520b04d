/* The texts that a model reads. */
#include <stdlib.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/hint/hint.h"
#include "core/report/text.h"
#include "core/run/collect/artifacts.h"
#include "core/run/collect/collect.h"
#include "core/run/engine/engine_private.h"

static struct text_source source_of(const struct collect *collect,
                                    const char *full_text_uri) {
  const struct run_record *record = collect->record;
  const struct outcome *outcome = collect->outcome;
  return (struct text_source){
      .status = run_status_name(outcome->status),
      .outputs = outcome->outputs,
      .images = outcome->images,
      .files = outcome->files,
      .error = outcome->error,
      .late = collect->session->known->late.list,
      .notes = outcome->notes,
      .hint = outcome->error == NULL ? hint_of_outputs(outcome->outputs) : NULL,
      .died = outcome->died,
      .kernel_state = outcome->died ? "lost" : record->kernel_state,
      .kernel_reason =
          outcome->died ? outcome->kernel_reason : record->kernel_reason,
      .ended_by = outcome->ended_by,
      .full_text_uri = full_text_uri,
      .wall_ms = (outcome->ended_at - record->started_at) / 1000,
      .timeout_ms = record->timeout_ms,
      .limit = collect->text_limit,
  };
}

static void write_prompt(const struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  if (outcome->error == NULL)
    return;
  struct text_source source = source_of(collect, NULL);
  CLEANUP(buf_free) struct buf prompt = BUF_INIT(BUF_SMALL);
  if (text_prompt(&source, &prompt) == 0)
    json_set_text(outcome->error, "prompt", buf_string(&prompt));
}

/* The URI of the whole text as an artifact, or NULL. */
static char *store_full_text(const struct collect *collect, struct buf *full) {
  struct outcome *outcome = collect->outcome;
  struct media *media = &outcome->full_text;
  struct err err = {0};
  if (media_store_text(collect->task_directory, "text/plain", buf_string(full),
                       full->length, engine_sync(collect->engine), media,
                       &err) < 0) {
    outcome_note(outcome, "the full text is not stored: %s", err.text);
    return NULL;
  }
  outcome->has_full_text = true;
  artifacts_sync_later(collect->engine, collect->task_directory, media, 1);
  return mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_ARTIFACTS "/%s",
                    collect->record->task, media->name);
}

/* The bounded text; when it leaves something out, the whole becomes an
 * artifact. */
void collect_text(struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  write_prompt(collect);
  CLEANUP(buf_free) struct buf full = BUF_INIT(BUF_ANSWER);
  struct text_source source = source_of(collect, NULL);
  text_compose_full(&source, &full);
  if (utf8_count(buf_string(&full), full.length) <= collect->text_limit) {
    outcome->text = buf_take(&full);
    return;
  }
  CLEANUP(mem_free_pointer) char *uri = store_full_text(collect, &full);
  source.full_text_uri = uri;
  CLEANUP(buf_free) struct buf bounded = BUF_INIT(BUF_ANSWER);
  text_compose(&source, &bounded);
  outcome->text = buf_take(&bounded);
}
