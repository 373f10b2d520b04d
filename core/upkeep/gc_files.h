/* The part of gc that removes files. Private to gc. */
#ifndef CELLPOST_UPKEEP_GC_FILES_H
#define CELLPOST_UPKEEP_GC_FILES_H

#include "core/store/retention.h"
#include "core/upkeep/gc.h"

/* A file that was written or used within this time may belong to a run that
 * goes on: it stays for now. Seconds. */
#define GC_GRACE_S 600

struct gc_files {
  struct store *store;
  int tasks; /* the directory tasks/ */
  struct gc_report *report;
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
