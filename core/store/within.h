/* Events and artifacts written inside somebody else's transaction. Private to
 * the store. */
#ifndef CELLPOST_STORE_WITHIN_H
#define CELLPOST_STORE_WITHIN_H

#include "core/store/artifact.h"
#include "core/store/db.h"
#include "core/store/event.h"

int event_add(struct db *db, const struct event_record *events, size_t count,
              struct err *err);

/* Copies with all that they point to. */
struct event_record *event_copy(const struct event_record *events,
                                size_t count);
struct artifact_record *artifact_copy(const struct artifact_record *artifacts,
                                      size_t count);
void artifact_copy_free(struct artifact_record *artifacts, size_t count);

/* Links each artifact to the run (its sequence); makes those that the task has
 * not had before. */
int artifact_add(struct db *db, const char *task, int64_t run,
                 const struct artifact_record *artifacts, size_t count,
                 struct err *err);

#endif
