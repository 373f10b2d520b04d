/* Which tasks a statement may look at. Private to the store. */
#ifndef CELLPOST_STORE_VISIBLE_H
#define CELLPOST_STORE_VISIBLE_H

#include "core/access/rights.h"
#include "core/store/database/db.h"

/* Binds :globs and :tenant, the condition of every statement that looks at many
 * tasks (sql/queries/access.sql). `globs` must live until the statement is
 * reset. */
void visible_bind(struct statement *statement, const struct rights *rights,
                  struct buf *globs);

#endif
