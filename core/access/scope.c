#include "core/access/scope.h"

#include <string.h>

#include "core/base/mem.h"

static const struct {
  enum scope scope;
  const char *name;
} names[] = {
    {SCOPE_READ, "read"},
    {SCOPE_RUN, "run"},
    {SCOPE_PACKAGES, "packages"},
    {SCOPE_ADMIN, "admin"},
};

const char *scope_name(enum scope scope) {
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (names[i].scope == scope)
      return names[i].name;
  return "";
}

static enum scope find(const char *word, size_t length) {
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strlen(names[i].name) == length &&
        memcmp(names[i].name, word, length) == 0)
      return names[i].scope;
  return SCOPE_NONE;
}

int scope_parse(const char *text, unsigned *ret, struct err *err) {
  unsigned scopes = 0;
  for (const char *word = text; *word != '\0';) {
    size_t length = strcspn(word, ", ");
    enum scope scope = find(word, length);
    if (length != 0 && scope == SCOPE_NONE)
      return err_set(err, ERR_INVALID,
                     "\"%.*s\" is no scope; there are read, run, packages and "
                     "admin",
                     (int)(length > 40 ? 40 : length), word);
    scopes |= (unsigned)scope;
    word += length + (word[length] != '\0');
  }
  if (scopes == 0)
    return err_set(err, ERR_INVALID,
                   "no scope is named; there are read, run, packages and "
                   "admin");
  *ret = scopes & SCOPE_ADMIN ? SCOPE_ALL : scopes;
  return 0;
}

void scope_format(unsigned scopes, struct buf *out) {
  if (scopes & SCOPE_ADMIN)
    scopes = SCOPE_ADMIN;
  const char *comma = "";
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (scopes & (unsigned)names[i].scope) {
      buf_format(out, "%s%s", comma, names[i].name);
      comma = ",";
    }
}
