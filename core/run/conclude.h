/* After the cell: what it left behind becomes the record, the notebook's last
 * word and the texts. */
#ifndef CELLPOST_RUN_CONCLUDE_H
#define CELLPOST_RUN_CONCLUDE_H

#include "core/notebook/workspace.h"
#include "core/run/drive.h"

struct conclusion {
  struct drive *drive;
  struct run_record *record; /* its end is filled in here */
  int task_directory;
  int files_directory;      /* or -1 */
  struct workspace *before; /* or NULL */
  int64_t cpu_before_us;    /* -1 unknown */
  struct code_cell *cell;   /* or NULL */
  enum traceback_style traceback;
  size_t text_limit;
  struct json *outputs; /* found out; the caller's */
};

/* Fills the record and c->outputs, writes notebook, artifacts and registry.
 * What cannot be written is told in the record's notes: the answer comes all
 * the same. */
void conclude(struct conclusion *c);

/* How the cell ended. Needs c->drive and c->outputs. */
enum run_status conclude_status(const struct conclusion *c);

/* False: the kernel neither replied nor put out anything. */
bool conclude_was_seen(const struct conclusion *c);

/* conclude_error.c: the error that the kernel published last, or that of its
 * reply; NULL when there is none. Borrowed. Needs c->outputs. */
const struct json *conclude_kernel_error(const struct conclusion *c);
/* The answer's error object for the record's status, with
 * hint; NULL when there is none. */
struct json *conclude_error(const struct conclusion *c);

#endif
