/* The schema: numbered migrations, then the views. Private to the store. */
#ifndef CELLPOST_STORE_DATABASE_MIGRATE_H
#define CELLPOST_STORE_DATABASE_MIGRATE_H

#include "core/store/database/db.h"

/* Refuses, before anything is changed, a database of a newer version, one whose
 * schema is not the one of its version, and one that is not Cellpost's:
 * ERR_CONFLICT. */
int migrate_check(struct db *db, struct err *err);

/* Refuses, besides, one that has not seen all migrations. */
int migrate_is_present(struct db *db, struct err *err);

/* Runs the migrations of sql/migrations that the database has not seen
 * (PRAGMA user_version), all in one transaction, and makes the views of
 * sql/views.sql anew when their text has changed. */
int migrate_run(struct db *db, struct err *err);

#endif
