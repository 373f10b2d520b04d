/* Tables runs, outputs, displays: exactly one row for each accepted request. */
#ifndef CELLPOST_STORE_RUN_H
#define CELLPOST_STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/artifact.h"
#include "core/store/event.h"
#include "core/store/run_record.h"
#include "core/store/store.h"

/* Inserts a queued run and its event. With an idempotency key that the task has
 * seen already (with a run that is not RUN_NOT_RUN), inserts nothing, returns 1
 * and leaves the first run's id in `existing`; ERR_CONFLICT when the body
 * differs from the first one. */
int run_insert(struct store *store, const struct run_record *record,
               char existing[37], struct err *err);

/* queued → running with the kernel fields. A run that ends soon may leave it
 * out: run_finish makes up for it when started_at is set. */
int run_start(struct store *store, const struct run_record *record,
              struct err *err);

/* Everything that the end of a run writes, in one transaction: the row, its
 * outputs (values stored as artifacts are replaced by {"artifact": name}),
 * artifacts, displays, a final event, and the events still pending. */
struct run_ending {
  const struct run_record *record;
  const struct json *outputs; /* nbformat array, already with references */
  const struct artifact_record *artifacts;
  size_t artifact_count;
  const struct run_display *displays;
  size_t display_count;
  const struct event_record *events;
  size_t event_count;
};
int run_finish(struct store *store, const struct run_ending *ending,
               struct err *err);

/* A copy with all that it points to, and its release (NULL is fine). */
struct run_ending *run_ending_copy(const struct run_ending *ending);
void run_ending_free(struct run_ending *ending);

int run_get(struct store *store, const char *id, struct run_record *ret,
            struct err *err);
/* The run's outputs, an nbformat array with references: all there are now, or
 * as they were when it ended, before late ones and later updates. */
int run_outputs(struct store *store, const char *id, struct json **ret,
                struct err *err);
int run_outputs_at_end(struct store *store, const char *id, struct json **ret,
                       struct err *err);

/* Runs of a task (NULL: of all), newest first, older than run `before` (NULL:
 * from the newest); status NULL: any. */
int run_list(struct store *store, const char *task, const char *before,
             const char *status, enum run_detail detail, int limit,
             struct run_record **ret, size_t *count, struct err *err);

/* Marks the wish to cancel or interrupt; 1 when the run was not final. */
int run_request_cancel(struct store *store, const char *id, const char *by,
                       struct err *err);
int run_cancel_requested(struct store *store, const char *id, struct err *err);

/* Runs of a task that are queued or running now, oldest first. */
int run_list_open(struct store *store, const char *task, enum run_detail detail,
                  struct run_record **ret, size_t *count, struct err *err);

/* The ends of runs whose leader died: lost, or not_run when the cell was never
 * sent to the kernel. */
struct run_losing {
  const struct run_record *lost, *not_run; /* text and error of each */
  /* Of a queued run (its id and task): whether it may have begun all the same.
   */
  bool (*has_begun)(const void *context, const struct run_record *run);
  const void *context;
};

/* Closes every open run whose instance is not alive any more (alive(pid,
 * pid_start) decides). Returns how many; each gets an event, and counts as
 * unwritten (below) until its cell tells the same. */
int run_close_lost(struct store *store,
                   bool (*alive)(int64_t pid, int64_t pid_start),
                   const struct run_losing *losing, struct err *err);

/* The last final run of the task in this kernel, for "was a run of this kernel
 * cut off?"; ERR_NOT_FOUND. */
int run_previous(struct store *store, const char *task, const char *kernel,
                 struct run_record *ret, struct err *err);

/* Late outputs of a finished run: appended to its outputs, counted, an event.
 * Positions of displays count from outputs[0]. */
int run_add_late(struct store *store, const char *id,
                 const struct json *outputs, const struct run_display *displays,
                 size_t display_count, struct err *err);

/* Where the display with that id of that kernel is: every (run, position).
 * Free *ret with run_display_places_free. */
struct run_display_place {
  char *run;
  size_t position;
  size_t cell_position; /* where neighbouring late streams are joined */
};
int run_find_display(struct store *store, const char *task, const char *kernel,
                     const char *display_id, struct run_display_place **ret,
                     size_t *count, struct err *err);
void run_display_places_free(struct run_display_place *places, size_t count);
/* update_display_data for older runs: replaces data and metadata of outputs,
 * all in one transaction. One that is not there is left out. */
struct run_output_change {
  const char *run;
  size_t position;
  const struct json *data, *metadata; /* metadata: NULL is {} */
};
int run_update_outputs(struct store *store,
                       const struct run_output_change *changes, size_t count,
                       struct err *err);

/* Late outputs, updates and ends of lost runs are here before they are in
 * the notebook. The cell's run counts as unwritten until then, so that the next
 * process can make up for one that was killed between. */
int run_note_written(struct store *store, const char *id, struct err *err);
/* 1: it is unwritten. */
int run_is_unwritten(struct store *store, const char *id, struct err *err);
/* Those runs' ids and tasks; run_list_free frees them. */
int run_list_unwritten(struct store *store, struct run_record **ret,
                       size_t *count, struct err *err);

#endif
