/* What run.c, run_read.c and run_late.c share. Private to the store. */
#ifndef CELLPOST_STORE_RUN_ROW_H
#define CELLPOST_STORE_RUN_ROW_H

#include "core/base/crypto.h"
#include "core/store/database/record.h"
#include "core/store/run_record.h"

extern const struct shape run_shape;

/* run_shape, or what a list needs of it; the same struct. */
const struct shape *run_shape_of(enum run_detail detail);

/* A row of runs inside a transaction, as a statement with RETURNING sequence,
 * task, kernel gave it. */
struct run_row {
  int64_t sequence;
  char *task;
  char *kernel; /* or NULL */
};
void run_row_free(struct run_row *row);

/* Steps `statement` once: 1 and *ret, 0 when it changed nothing. */
int run_row_step(struct db *db, struct statement *statement,
                 struct run_row *ret, struct err *err);

/* Why a change touched no row: ERR_NOT_FOUND, or ERR_CONFLICT with the state
 * that the run is in. Always -1. */
int run_explain(struct db *db, const char *id, struct err *err);

/* Writes outputs[0..] at `position` and on. */
int run_add_outputs(struct db *db, int64_t run, size_t position,
                    const struct json *outputs, bool late, struct err *err);

/* Notes displays of the run, if it had a kernel, whose positions count from
 * `position`. */
int run_add_displays(struct db *db, const struct run_row *row, size_t position,
                     const struct run_display *displays, size_t count,
                     struct err *err);

/* The run's hash in the integrity chain, as its row and the hash before it
 * give it. */
int run_hash(struct db *db, int64_t run, char hash[CRYPTO_SHA256_HEX],
             struct err *err);

/* Ends the finished run's part in the history: its final event and its link in
 * the integrity chain. */
int run_seal(struct db *db, const struct run_row *row, struct err *err);

#endif
