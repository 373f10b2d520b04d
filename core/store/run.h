/* Tables runs, outputs, displays: exactly one row for each accepted request. */
#ifndef CELLPOST_STORE_RUN_H
#define CELLPOST_STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/json.h"
#include "core/store/artifact.h"
#include "core/store/event.h"
#include "core/store/store.h"

/* The life of a run: queued → running → one of the ends. Stored by name. */
enum run_status {
  RUN_QUEUED,
  RUN_RUNNING,
  RUN_OK,
  RUN_ERROR,
  RUN_TIMEOUT,
  RUN_INTERRUPTED,  /* somebody asked */
  RUN_CANCELLED,    /* before it started */
  RUN_OUTPUT_LIMIT, /* interrupted at the hard output cap */
  RUN_OOM,
  RUN_KERNEL_DIED,
  RUN_LOST,    /* the process that led it died; its end is unknown */
  RUN_NOT_RUN, /* accepted, but no kernel could be had (503) */
};
const char *run_status_name(enum run_status status);
enum run_status run_status_parse(const char *name); /* RUN_LOST if unknown */
static inline bool run_status_is_final(enum run_status status) {
  return status >= RUN_OK;
}

struct run_record {
  /* known when it is accepted */
  char *id; /* UUIDv7 */
  char *task;
  int64_t number; /* 1, 2, … within the task; given by the store */
  char *code;
  size_t code_length;
  char code_sha256[65];
  char *section;     /* or NULL */
  struct json *tags; /* array or NULL */
  bool silent;
  char *caller;          /* token name or "anonymous" */
  char *address;         /* of the client, or NULL */
  char *request_id;      /* or NULL */
  char *idempotency_key; /* or NULL */
  char body_sha256[65];  /* "" when there is no key */
  char *instance;        /* the process that leads it */
  int64_t timeout_ms;    /* 0: none */
  struct json *options; /* images, text_limit, traceback, limits: for replays of
                           the answer */
  int64_t queued_at;
  /* known when it starts */
  int64_t started_at;  /* 0: not yet */
  char *kernel;        /* id, or NULL */
  int64_t generation;  /* of the kernel */
  char *kernel_state;  /* kept | fresh | lost: as the cell met it; lost, too,
                          when the kernel ended with it */
  char *kernel_reason; /* or NULL */
  char *cell;          /* notebook cell id, or NULL (silent, not written) */
  /* known when it ends */
  enum run_status status;
  int64_t ended_at;        /* 0: not yet */
  int64_t execution_count; /* -1: none */
  struct json *error;      /* the answer's error object, or NULL */
  char *text;              /* or NULL */
  struct json *files;      /* the answer's files array, or NULL */
  struct json *truncated;  /* the answer's truncated object, or NULL */
  struct json *images;     /* the answer's images without base64, or NULL */
  struct json *notes; /* array of sentences: what went wrong beside the run */
  struct json *late_told; /* the answer's late_outputs array, or NULL */
  char *ended_by;         /* "SIGINT", "SIGTERM", "SIGKILL", … or NULL */
  int64_t cpu_ms, memory_peak_bytes, output_bytes; /* -1 unknown */
  int64_t late_outputs;        /* arrived after the end, so far */
  int64_t cancel_requested_at; /* 0: nobody asked */
};
void run_record_free(struct run_record *record); /* members; cleanup */

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

/* One display that a run made, so that a later update finds its output. */
struct run_display {
  const char *display_id;
  size_t position;
};

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
             const char *status, int limit, struct run_record **ret,
             size_t *count, struct err *err);
void run_list_free(struct run_record *list, size_t count);

/* Marks the wish to cancel or interrupt; 1 when the run was not final. */
int run_request_cancel(struct store *store, const char *id, const char *by,
                       struct err *err);
int run_cancel_requested(struct store *store, const char *id, struct err *err);

/* Runs of a task that are queued or running now, oldest first. */
int run_list_open(struct store *store, const char *task,
                  struct run_record **ret, size_t *count, struct err *err);

/* Closes as lost every open run whose instance is not alive any more
 * (alive(pid, pid_start) decides), with the text and error of `words`. Returns
 * how many; each gets an event. `tell` hears of each afterwards: its id, task
 * and whether it was silent. */
int run_close_lost(struct store *store,
                   bool (*alive)(int64_t pid, int64_t pid_start),
                   const struct run_record *words,
                   void (*tell)(void *context, const struct run_record *run),
                   void *context, struct err *err);

/* The last final run of the task in this kernel, for "was a run of this kernel
 * cut off?"; ERR_NOT_FOUND. */
int run_previous(struct store *store, const char *task, const char *kernel,
                 struct run_record *ret, struct err *err);

/* Late outputs of a finished run: appended to its outputs, counted, an event.
 * Positions of displays count from outputs[0]. */
int run_add_late(struct store *store, const char *id,
                 const struct json *outputs, const struct run_display *displays,
                 size_t display_count, struct err *err);

/* Where the display with that id of that kernel stands: every (run, position).
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
/* update_display_data for an older run: replaces data and metadata. */
int run_update_output(struct store *store, const char *run, size_t position,
                      const struct json *data, const struct json *metadata,
                      struct err *err);

/* Late outputs and updates stand here before they stand in the notebook. The
 * cell's run counts as unwritten until then, so that the next process can make
 * up for one that was killed between. */
int run_note_written(struct store *store, const char *id, struct err *err);
/* 1: it is unwritten. */
int run_is_unwritten(struct store *store, const char *id, struct err *err);
/* Those runs' ids and tasks; run_list_free frees them. */
int run_list_unwritten(struct store *store, struct run_record **ret,
                       size_t *count, struct err *err);

#endif
