/* The end of a run, written down: the notebook's last word on the cell, then
 * everything that the registry keeps, in one transaction. */
#ifndef CELLPOST_RUN_FINISH_H
#define CELLPOST_RUN_FINISH_H

#include "core/notebook/cell.h"
#include "core/run/collect/outcome.h"
#include "core/run/engine/live.h"
#include "core/run/session/session.h"

struct finish {
  /* all borrowed */
  struct engine *engine;
  struct session *session;
  struct live_run *live;
  struct collector *collector;
  struct code_cell *cell;    /* NULL: nothing goes to the notebook */
  struct outcome *outcome;   /* what of it the record takes is gone then */
  struct run_record *record; /* its end is filled in */
};

/* What cannot be written is told in the record's notes: the answer comes all
 * the same. */
void finish_run(struct finish *finish);

#endif
