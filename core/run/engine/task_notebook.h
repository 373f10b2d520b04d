/* The notebook of a task, opened when it is needed and kept open beside the
 * kernel's channel. The caller has the task's turn. */
#ifndef CELLPOST_RUN_ENGINE_TASK_NOTEBOOK_H
#define CELLPOST_RUN_ENGINE_TASK_NOTEBOOK_H

#include "core/base/err.h"
#include "core/notebook/writer/notebook.h"
#include "core/run/engine/engine.h"

/* All zero: not open yet. */
struct task_notebook {
  struct notebook *notebook; /* or NULL */
  bool has_kernel;           /* its metadata tell of the kernel */
  char *set_aside;           /* the file that stood in the notebook's place and
                                could not be kept whole, until somebody tells it */
};

/* The notebook, opened anew when another process has written to it. NULL on
 * failure (*err). A file that is set aside is also told in the event log. */
struct notebook *task_notebook_open(struct engine *engine, const char *task,
                                    struct task_notebook *slot,
                                    struct err *err);
void task_notebook_close(struct task_notebook *slot); /* also the cleanup */

/* Sets aside what is there (slot->set_aside) and begins an empty notebook. */
struct notebook *task_notebook_begin(struct engine *engine, const char *task,
                                     struct task_notebook *slot,
                                     struct err *err);

/* What the notebook's metadata tell of the kernel. */
struct task_notebook_kernel {
  const char *name, *display_name, *language;
  const struct json *language_info; /* or NULL */
};

/* Has a notebook there that tells of the kernel. */
int task_notebook_make(struct engine *engine, const char *task,
                       struct task_notebook *slot,
                       const struct task_notebook_kernel *kernel,
                       struct err *err);

/* Puts a cell in, before it runs: opens the notebook, sets its metadata, and
 * appends the section's heading (NULL: none) unless it is the last heading. */
int task_notebook_add_cell(struct engine *engine, const char *task,
                           struct task_notebook *slot,
                           const struct task_notebook_kernel *kernel,
                           const char *section, const struct code_cell *cell,
                           struct err *err);

/* Brings the cell up to date. When somebody has removed it, or the notebook,
 * meanwhile, it is put in again. */
int task_notebook_put(struct engine *engine, const char *task,
                      struct task_notebook *slot,
                      const struct task_notebook_kernel *kernel,
                      const struct code_cell *cell, struct err *err);

#endif
