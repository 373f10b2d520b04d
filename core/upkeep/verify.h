/* Checks the history, the artifacts and the notebooks against each other, also
 * while the service runs; changes nothing.
 *
 *   database    SQLite's structure, the integrity chain, digests
 *   artifacts   each file that the registry needs is there; content and digest
 *   notebooks   each is whole; each run's cell holds its code, its status and
 *               its outputs; no cell names a run that never was
 *
 * A run without a cell is no discrepancy: whoever may write the notebook may
 * leave it out. It is counted. */
#ifndef CELLPOST_UPKEEP_VERIFY_H
#define CELLPOST_UPKEEP_VERIFY_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/conf/conf.h"

struct verify_report {
  int64_t runs, artifacts, notebooks, cells; /* looked at */
  int64_t without_cell;                      /* runs */
  char first_without_cell[400];              /* a sentence */
};

/* 0: all in order. 1: *err names the first discrepancy. -1: it could not be
 * looked at. */
int verify_all(const struct conf *conf, struct verify_report *ret,
               struct err *err);

#endif
