#include "core/report/hint/hint_rule.h"

#include <string.h>

void hint_rule_apply(struct hint *hint, const struct hint_rule *rules,
                     size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (name != NULL && strcmp(rules[i].name, name) == 0 && rules[i].compose)
      rules[i].compose(hint);
    else if (name != NULL && strcmp(rules[i].name, name) == 0)
      buf_text(hint->out, rules[i].sentence);
}
