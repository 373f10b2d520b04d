/* What somebody may do, and in which tasks. Pure.
 *
 * The tasks are a list of words with commas between: patterns of task names, in
 * which "*" stands for any characters and "?" for one ("alice-*"), and "own",
 * which is every task that a token of the same tenant has made. An
 * administrator sees all. */
#ifndef CELLPOST_ACCESS_RIGHTS_H
#define CELLPOST_ACCESS_RIGHTS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define RIGHTS_TASKS_MOST 2000 /* bytes of the list */

struct rights {
  unsigned scopes;    /* core/access/scope.h */
  const char *tasks;  /* the list; NULL: all */
  const char *tenant; /* NULL: of nobody's */
};

/* ERR_INVALID names the word that is neither a pattern nor "own". */
int rights_check_tasks(const char *tasks, struct err *err);

/* Whether every task there may ever be is among them. NULL rights: yes. */
bool rights_are_whole(const struct rights *rights);

/* Whether "own" is among the words, so that the maker of a task counts. */
bool rights_have_own(const struct rights *rights);

/* Whether a pattern covers the task, whoever has made it. */
bool rights_cover_name(const struct rights *rights, const char *task);

/* `tenant`: that of the task's maker; NULL: it is unknown, or nobody's. */
bool rights_cover(const struct rights *rights, const char *task,
                  const char *tenant);

/* The patterns as a JSON array of text, for SQLite's GLOB. */
void rights_globs(const struct rights *rights, struct buf *out);

/* A copy, with texts of its own, as one block (free). NULL gives NULL. */
struct rights *rights_copy(const struct rights *rights);

#endif
