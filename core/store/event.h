/* Table events: the log behind the live feed, in order, with growing ids. */
#ifndef CELLPOST_STORE_EVENT_H
#define CELLPOST_STORE_EVENT_H

#include <stddef.h>

#include "core/json/json.h"
#include "core/store/store.h"

struct event_record {
  int64_t id; /* given by the database */
  int64_t at;
  char *task;
  char *run;  /* or NULL */
  char *kind; /* "run.queued", "run.started", "run.output", "run.finished",
                 "run.late", "kernel.started", "kernel.output", "kernel.ended",
                 "task.created", "task.deleted", "cell.added",
                 "notebook.set_aside" */
  struct json *content;
};

/* Appends all in one transaction. */
int event_append(struct store *store, const struct event_record *events,
                 size_t count, struct err *err);
void event_list_free(struct event_record *list, size_t count);

/* An event with its content as the JSON text that it is stored as: for those
 * who pass it on. */
struct event_text {
  int64_t id, at;
  char *task, *run; /* or NULL */
  char *kind, *content;
};
/* Events of one task (NULL: all) with ids from `after` (not included) up to
 * `last` (included), oldest first. */
int event_list_texts(struct store *store, const char *task, int64_t after,
                     int64_t last, int limit, struct event_text **ret,
                     size_t *count, struct err *err);
void event_texts_free(struct event_text *list, size_t count);

/* The ids of the oldest and the newest event in the log; both 0: there is none.
 * Between them none is missing. */
int event_bounds(struct store *store, int64_t *oldest, int64_t *newest,
                 struct err *err);

/* For the store itself: appends within somebody else's transaction; copies with
 * all that they point to. */
struct db;
int event_add(struct db *db, const struct event_record *events, size_t count,
              struct err *err);
struct event_record *event_copy(const struct event_record *events,
                                size_t count);

/* Runs a statement of sql/queries that makes an event of what row `id` says
 * now; it has the parameters `at` and `id`. */
int event_note(struct db *db, const char *statement, const char *id, int64_t at,
               struct err *err);

#endif
