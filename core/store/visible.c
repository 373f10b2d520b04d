#include "core/store/visible.h"

void visible_bind(struct statement *statement, const struct rights *rights,
                  struct buf *globs) {
  if (rights_are_whole(rights))
    return;
  rights_globs(rights, globs);
  statement_bind_text(statement, "globs", buf_string(globs));
  if (rights_have_own(rights))
    statement_bind_text(statement, "tenant", rights->tenant);
}
