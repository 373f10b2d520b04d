/* Table replays: the cells of a history that were run again in a new kernel. */
#ifndef CELLPOST_STORE_REPLAY_H
#define CELLPOST_STORE_REPLAY_H

#include <stdbool.h>

#include "core/json/json.h"
#include "core/store/run.h"
#include "core/store/store.h"

enum replay_status {
  REPLAY_ASKED,
  REPLAY_RUNNING,
  REPLAY_COMPLETE,   /* each cell went well again */
  REPLAY_INCOMPLETE, /* some did not, or could not be run */
  REPLAY_CANCELLED,  /* somebody asked */
  REPLAY_LOST,       /* its kernel, or the process that led it, ended */
};
const char *replay_status_name(enum replay_status status);

struct replay_record {
  char *id; /* UUID */
  char *task;
  int64_t asked_at;
  char *asked_by; /* the caller, or REPLAY_BY_SETTING */
  char *instance; /* the process that leads it, or NULL */
  char *kernel;   /* id, or NULL */
  int64_t started_at;
  int64_t cancel_requested_at; /* 0: nobody asked */
  int64_t ended_at;
  enum replay_status status;
  int64_t cells; /* run again; the next three add up to it */
  int64_t same, different, failed;
  int64_t skipped;          /* not run again */
  struct json *differences; /* array, or NULL */
};
void replay_record_free(struct replay_record *record); /* members; cleanup */

/* asked_by of a replay that the setting replay_after_death brought about. */
#define REPLAY_BY_SETTING "replay_after_death"

/* Asks for a replay in the task's next new kernel: record's id, task, asked_at,
 * asked_by. ERR_NOT_FOUND: no such task. */
int replay_insert(struct store *store, const struct replay_record *record,
                  struct err *err);
/* Takes the wish back unless it has begun. */
int replay_cancel_asked(struct store *store, const char *id, struct err *err);

/* The oldest one asked for that has not begun. 1, 0, -1. */
int replay_find_asked(struct store *store, const char *task,
                      struct replay_record *ret, struct err *err);
/* Begins all that were asked for: instance, kernel, started_at. */
int replay_start(struct store *store, const struct replay_record *record,
                 struct err *err);
/* Ends all that were begun in record->kernel, with an event. */
int replay_finish(struct store *store, const struct replay_record *record,
                  struct err *err);

int replay_get(struct store *store, const char *id, struct replay_record *ret,
               struct err *err);
/* The one that was made in this kernel. ERR_NOT_FOUND. */
int replay_of_kernel(struct store *store, const char *kernel,
                     struct replay_record *ret, struct err *err);

/* Marks the wish to end the task's running replay; 1 when there is one. */
int replay_request_cancel(struct store *store, const char *task,
                          struct err *err);
int replay_cancel_requested(struct store *store, const char *task,
                            struct err *err);

/* Closes as lost those whose process is not alive any more. */
int replay_close_lost(struct store *store,
                      bool (*alive)(int64_t pid, int64_t pid_start),
                      struct err *err);

/* The task's runs that went well, in its present life, behind run `after`
 * (NULL: from the first), in order; free with run_list_free. */
int replay_list_runs(struct store *store, const char *task, const char *after,
                     int limit, struct run_record **ret, size_t *count,
                     struct err *err);
/* How many of the task's runs retention has removed. */
int replay_count_removed(struct store *store, const char *task, int64_t *ret,
                         struct err *err);

#endif
