/* What tokens hold at this moment of what they may have (core/access/quota.h).
 * One process counts its own requests; kernels are counted in the registry. */
#ifndef CELLPOST_FCGI_HTTP_ALLOWANCE_H
#define CELLPOST_FCGI_HTTP_ALLOWANCE_H

#include <pthread.h>

#include "core/base/err.h"
#include "core/store/store.h"
#include "fcgi/http/caller.h"

struct allowance_entry;

struct allowances {
  pthread_mutex_t mutex;
  struct allowance_entry *entries; /* one a token, kept */
};
void allowance_open(struct allowances *allowances);

/* Takes what a run in `task` needs. ERR_BUSY, with *wait_s how long to wait
 * before asking again: it is too much at once or within this minute, or the
 * task has no kernel and the tenant as many as it may. */
int allowance_take(struct allowances *allowances, const struct caller *caller,
                   const char *task, struct store *store, int64_t *wait_s,
                   struct err *err);

/* Gives back what it holds. */
void allowance_give(struct allowances *allowances, const struct caller *caller,
                    const char *task);

/* Somebody at this address showed a token that is not taken, as *err says. More
 * than 20 within a minute, and *err becomes an ERR_BUSY, with *wait_s. Who
 * shows a good one is not held up. Returns -1. */
int allowance_note_failure(struct allowances *allowances, const char *address,
                           int64_t *wait_s, struct err *err);

#endif
