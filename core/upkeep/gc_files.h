/* The part of gc that removes files. */
#ifndef CELLPOST_UPKEEP_GC_FILES_H
#define CELLPOST_UPKEEP_GC_FILES_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/store/retention.h"
#include "core/store/store.h"

/* A file that was written or used within this time may belong to a run that
 * goes on: it stays for now. Seconds. */
#define GC_GRACE_S 600

struct gc_removed {
  int64_t files, bytes; /* artifacts and temporary files */
  int64_t tasks;        /* whose files were removed */
  int64_t unknown;      /* directories that belong to no task: they stay */
};

struct gc_files {
  struct store *store;
  int tasks; /* the directory tasks/ */
  struct gc_removed *removed;
};

/* The files of artifacts whose rows are gone. */
void gc_remove_artifacts(const struct gc_files *files,
                         const struct retention_files *gone);

/* What the task's directory holds beyond what the registry knows. */
void gc_remove_orphans(const struct gc_files *files, const char *task);

/* All files of a deleted task, unless it was made anew meanwhile. */
int gc_remove_task(const struct gc_files *files, const char *task,
                   struct err *err);

/* What a killed gc had begun to remove; counts the directories that belong to
 * no task. */
void gc_look_at_directories(const struct gc_files *files);

#endif
