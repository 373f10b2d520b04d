/* The files that the cell changed, and the values that become files. */
#include "core/base/mem.h"
#include "core/run/collect/artifacts.h"
#include "core/run/collect/collect.h"
#include "core/run/engine/engine_private.h"

void collect_media(struct collect *collect) {
  struct outcome *outcome = collect->outcome;
  struct err err = {0};
  if (media_store(collect->task_directory, outcome->outputs,
                  engine_sync(collect->engine), &outcome->media,
                  &outcome->media_count, &err) < 0)
    outcome_note(outcome, "images are not stored as files: %s", err.text);
  collector_add_media(collect->collector, &outcome->media,
                      &outcome->media_count);
  artifacts_sync_later(collect->engine, collect->task_directory, outcome->media,
                       outcome->media_count);
  outcome->images = artifacts_list_images(collect->record->task, outcome->media,
                                          outcome->media_count);
}

static void note_gaps(struct outcome *outcome, const struct workspace *before,
                      const struct workspace *after, int64_t scanned) {
  if (workspace_was_cut(before) || workspace_was_cut(after))
    outcome_note(outcome,
                 "the list of changed files may be incomplete: only %lld "
                 "entries of the workspace are looked at",
                 (long long)scanned);
  if (workspace_was_barred(before) || workspace_was_barred(after))
    outcome_note(outcome,
                 "the list of changed files may be incomplete: not everything "
                 "in the workspace can be looked at (a directory that may not "
                 "be read, or a path that is too long)");
}

void collect_files(struct collect *collect) {
  struct engine *engine = collect->engine;
  struct outcome *outcome = collect->outcome;
  if (collect->before == NULL || collect->files_directory < 0)
    return;
  CLEANUP(workspace_done) struct workspace *after = NULL;
  struct err err = {0};
  if (workspace_scan(collect->files_directory,
                     (size_t)engine->conf->files_scanned, &after, &err) < 0) {
    outcome_note(outcome, "changed files are not listed: %s", err.text);
    return;
  }
  pthread_mutex_lock(&engine->mime_mutex);
  outcome->files = workspace_compare(
      collect->before, after, collect->files_directory, collect->record->task,
      engine->mime, (size_t)engine->conf->files_listed,
      &outcome->files_omitted);
  pthread_mutex_unlock(&engine->mime_mutex);
  note_gaps(outcome, collect->before, after, engine->conf->files_scanned);
}
