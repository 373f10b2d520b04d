/* Which hint belongs to which name: tables of exceptions and of statuses. Pure.
 */
#ifndef CELLPOST_REPORT_HINT_HINT_RULE_H
#define CELLPOST_REPORT_HINT_HINT_RULE_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/report/hint/hint_source.h"

/* All that a hint function works on. */
struct hint {
  const struct hint_source *source;
  const struct json *probe; /* what it saw of this exception, or NULL */
  const struct json *seen;  /* its part for this class, or NULL */
  struct buf *out;
};

/* One sentence, or a function that makes it, for an exception or a status. */
struct hint_rule {
  const char *name;
  void (*compose)(struct hint *hint);
  const char *sentence;
};

/* Appends the hint of the rule with that name (NULL: none). */
void hint_rule_apply(struct hint *hint, const struct hint_rule *rules,
                     size_t count, const char *name);

#endif
