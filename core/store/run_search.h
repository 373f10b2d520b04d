/* Table runs, searched: what an audit asks for. */
#ifndef CELLPOST_STORE_RUN_SEARCH_H
#define CELLPOST_STORE_RUN_SEARCH_H

#include "core/access/rights.h"
#include "core/store/run.h"

/* Every condition that is set must hold. */
struct run_filter {
  const char *task;   /* NULL: of all */
  const char *status; /* of struct run_record; "failed": all that went wrong */
  const char *error;  /* the name of what was raised */
  const char *text;   /* is in the code; ASCII letters of either case */
  int64_t since;      /* accepted at this time or later; 0: any */
  int64_t until;      /* accepted before this time; 0: any */
  const char *before; /* id of a run: only older ones */
  const struct rights *rights; /* only in tasks within them; NULL: all */
};

/* Newest first, at most `limit`. A search for an error or a text looks at every
 * run of the task and the time: seconds where these are millions. Free with
 * run_list_free. ERR_NOT_FOUND: no run `before`. */
int run_search(struct store *store, const struct run_filter *filter,
               enum run_detail detail, int limit, struct run_record **ret,
               size_t *count, struct err *err);

/* What was accepted within one hour (UTC). */
struct run_hour {
  int64_t at; /* when it began */
  int64_t runs;
  int64_t failed;
  int64_t median_us, p95_us; /* from start to end; -1: none of them started */
};

/* The hours that have runs, oldest first; of the filter count task, since and
 * until. *ret is the caller's (free). */
int run_hours(struct store *store, const struct run_filter *filter,
              struct run_hour **ret, size_t *count, struct err *err);

#endif
