/* The notebook file of one task: valid on disk at every instant.
 *
 * Readers (nginx) always see a complete file, because every version is put in
 * place by one rename. The cost of a cell does not depend on the size of the
 * notebook: publish.h tells how.
 *
 * A version that somebody has open is never written to, nor one with a second
 * hard link. Not seen are pages that sendfile(2) has handed to a socket before
 * the file was closed: servers must read it (nginx: sendfile off).
 *
 * One process writes at a time: the caller holds the task's turn. The files
 * .notebook.spare and .notebook.index beside the notebook may be deleted at any
 * time and are made anew.
 *
 * Every function that publishes gives ERR_CONFLICT when another process wrote
 * since (close it and open it anew), ERR_NO_SPACE and ERR_IO; then the old file
 * is intact and the notebook can be written to again. One exception: when after
 * all else the sync of the directory fails (FS_SYNC_DATA, ERR_IO), the new
 * version stands there but a loss of power may undo it. */
#ifndef CELLPOST_NOTEBOOK_WRITER_NOTEBOOK_H
#define CELLPOST_NOTEBOOK_WRITER_NOTEBOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/fs.h"
#include "core/base/fs_later.h"
#include "core/json/json.h"
#include "core/notebook/cell.h"

struct notebook;

/* Opens (or makes) `notebook.ipynb`, mode 0644, in the task's directory (a
 * descriptor that the notebook duplicates). An existing notebook of any 4.x
 * minor version is adopted: valid cells are kept, missing ids added. What is
 * not a notebook, or one of which not everything can be kept, is set aside as
 * notebook.ipynb.<time>.aside and told in *set_aside (malloc'ed name, or NULL
 * when nothing was; set_aside itself may be NULL). Of a notebook of ours with a
 * damaged end (a loss of power without FS_SYNC_DATA) all whole cells are kept.
 *
 * Cheap for a notebook that this machine wrote since it was started: a few
 * system calls and 80 bytes a cell. Any other one is read and checked whole. */
int notebook_open(int task_directory, enum fs_sync sync, struct notebook **ret,
                  char **set_aside, struct err *err);
/* Opens an empty one in its place: what is there is set aside whole. */
int notebook_open_anew(int task_directory, enum fs_sync sync,
                       struct notebook **ret, char **set_aside,
                       struct err *err);
/* From now on each version is also given to `later` (borrowed), which brings it
 * to the disk within a second. For a notebook opened with FS_SYNC_NONE; holds
 * two descriptors of the notebook open meanwhile. */
void notebook_sync_later(struct notebook *notebook, struct fs_later *later);
void notebook_close(struct notebook *notebook); /* NULL is fine */
void notebook_done(struct notebook **notebook);

/* True when another process may have written since (inode, size or mtime of the
 * published file changed): the caller closes it and opens anew. Cheap. */
bool notebook_is_stale(const struct notebook *notebook);

/* Sets kernelspec and language_info; writes only when they differ. */
int notebook_set_kernel(struct notebook *notebook, const char *name,
                        const char *display_name, const char *language,
                        const struct json *language_info, struct err *err);

/* Appends a cell and publishes. ERR_INVALID: not a cell id. ERR_CONFLICT: the
 * id is there already. */
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

/* Replaces the cell, or appends it when it is not there (any more). */
int notebook_put_code(struct notebook *notebook, const struct code_cell *cell,
                      struct err *err);

/* update_display_data in cells that are not the running one: puts data and
 * metadata into output `position` of cell `id`. */
struct notebook_update {
  const char *id;
  size_t position;
  const struct json *data, *metadata;
  bool done; /* out; false: there is no such display */
};
/* Publishes all of them, together unless they are far from each other. */
int notebook_update_outputs(struct notebook *notebook,
                            struct notebook_update *updates, size_t count,
                            struct err *err);

/* Appends outputs to an older cell and sets metadata.cellpost.late in it; text
 * of the stream that stands last in the cell goes on there. ERR_NOT_FOUND: no
 * such code cell. */
int notebook_add_late(struct notebook *notebook, const char *id,
                      const struct json *outputs, struct err *err);

/* Sets metadata.cellpost.status of a code cell. ERR_NOT_FOUND. */
int notebook_set_status(struct notebook *notebook, const char *id,
                        const char *status, struct err *err);

/* Replaces the outputs of a code cell. ERR_NOT_FOUND. */
int notebook_set_outputs(struct notebook *notebook, const char *id,
                         const struct json *outputs, struct err *err);

/* Cells whose ids begin so are the headings of sections. */
#define NOTEBOOK_SECTION "section-"
/* The id of the last of them; NULL when there is none. Valid until the next
 * change. */
const char *notebook_last_section(struct notebook *notebook);

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

/* Whether notebooks in this directory cost what a cell costs: 0, or -1 and what
 * its filesystem lacks; then every version is written whole. For doctor. */
int notebook_probe(int directory, struct err *err);

#endif
