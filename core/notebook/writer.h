/* The notebook file of one task: valid on disk at every instant.
 *
 * Readers (nginx) always see a complete file, because every version is put in
 * place by one rename. DESIGN.md ("The notebook at constant cost") tells how
 * the cost of a cell is kept independent of the size of the notebook: two
 * inodes, a write lease on the spare, append the tail, exchange.
 *
 * One process writes at a time: the caller holds the task's turn. */
#ifndef CELLPOST_NOTEBOOK_WRITER_H
#define CELLPOST_NOTEBOOK_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/notebook/cell.h"

struct notebook;

/* Opens (or makes) `notebook.ipynb` in the task's directory (a descriptor that
 * the notebook duplicates). An existing notebook of any 4.x minor version is
 * adopted: valid cells are kept, missing ids added. What is not a notebook is
 * set aside as notebook.ipynb.<time>.aside and told in *set_aside (malloc'ed
 * name, or NULL when nothing was; set_aside itself may be NULL). */
int notebook_open(int task_directory, enum fs_sync sync, struct notebook **ret,
                  char **set_aside, struct err *err);
void notebook_close(struct notebook *notebook); /* NULL is fine */
void notebook_done(struct notebook **notebook);

/* True when another process may have written since (inode, size or mtime of the
 * published file changed): the caller closes it and opens anew. Cheap. */
bool notebook_is_stale(const struct notebook *notebook);

/* Sets kernelspec and language_info; writes only when they differ. */
int notebook_set_kernel(struct notebook *notebook, const char *name,
                        const char *display_name, const char *language,
                        const struct json *language_info, struct err *err);

/* Appends a cell and publishes. ERR_NO_SPACE: the old file is intact. */
int notebook_append_code(struct notebook *notebook,
                         const struct code_cell *cell, struct err *err);
int notebook_append_markdown(struct notebook *notebook, const char *id,
                             const char *source, size_t length,
                             struct err *err);

/* Replaces the cell with cell->id by these bytes and publishes: usually the
 * last one, whose own tail alone is rewritten; an older one is rewritten from
 * there on. ERR_NOT_FOUND. */
int notebook_replace_code(struct notebook *notebook,
                          const struct code_cell *cell, struct err *err);

/* update_display_data in a cell that is not the running one: puts data and
 * metadata into output `position` of cell `id`. ERR_NOT_FOUND. */
int notebook_update_output(struct notebook *notebook, const char *id,
                           size_t position, const struct json *data,
                           const struct json *metadata, struct err *err);

/* Appends outputs to an older cell and sets metadata.cellpost.late in it. */
int notebook_add_late(struct notebook *notebook, const char *id,
                      const struct json *outputs, struct err *err);

/* True when a cell with that id is there. */
bool notebook_has_cell(const struct notebook *notebook, const char *id);
int64_t notebook_cells(const struct notebook *notebook);
int64_t notebook_size(const struct notebook *notebook); /* bytes */

/* How often each way of publishing was used, in this process. */
struct notebook_counters {
  uint64_t appended; /* spare + lease + exchange */
  uint64_t copied;   /* whole file + rename */
  uint64_t bytes;    /* written */
};
void notebook_counters(struct notebook_counters *ret);

#endif
