/* What a cell left behind, gathered from all sides: its status, what it used,
 * artifacts, changed files, error, texts. Each has a file of this room. */
#ifndef CELLPOST_RUN_COLLECT_COLLECT_H
#define CELLPOST_RUN_COLLECT_COLLECT_H

#include "core/notebook/workspace.h"
#include "core/report/traceback/traceback.h"
#include "core/run/collect/outcome.h"
#include "core/run/engine/live.h"
#include "core/run/session/session.h"

struct collect {
  /* given, borrowed */
  struct engine *engine;
  struct session *session;
  struct live_run *live;
  const struct run_record *record; /* as it was when the cell started */
  struct collector *collector;
  struct outcome *outcome; /* the stage's result */
  int task_directory;
  int files_directory; /* or -1 */
  enum traceback_style traceback;
  size_t text_limit;

  /* what the cell found; its own */
  struct workspace *before; /* or NULL */
  int64_t cpu_before_us;    /* -1 unknown */
};
void collect_done(struct collect *collect); /* frees its own; cleanup */

/* Before the cell starts. */
void collect_begin(struct collect *collect);

/* After it has ended. What cannot be had is told in the outcome's notes. */
void collect_outcome(struct collect *collect);

/* The parts, in their order; collect_outcome calls them. */
void collect_status(struct collect *collect);
void collect_usage(struct collect *collect);
void collect_media(struct collect *collect);
void collect_files(struct collect *collect);
void collect_error(struct collect *collect);
void collect_text(struct collect *collect);

#endif
