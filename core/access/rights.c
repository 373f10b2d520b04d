#include "core/access/rights.h"

#include <string.h>

#include "core/access/scope.h"
#include "core/base/mem.h"

#define OWN "own"
#define NAME_CHARACTERS                                                        \
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-"
#define NAME_MOST 128

struct word {
  const char *start;
  size_t length;
};

/* Walks the words of a list; false at the end. `*list` starts at the list. */
static bool next_word(const char **list, struct word *word) {
  const char *start = *list + strspn(*list, ", ");
  *word = (struct word){start, strcspn(start, ", ")};
  *list = start + word->length;
  return word->length != 0;
}

static bool is_own(const struct word *word) {
  return word->length == strlen(OWN) &&
         memcmp(word->start, OWN, word->length) == 0;
}

int rights_check_tasks(const char *tasks, struct err *err) {
  struct word word;
  if (strlen(tasks) > RIGHTS_TASKS_MOST)
    return err_set(err, ERR_INVALID, "the list of tasks is over %d bytes",
                   RIGHTS_TASKS_MOST);
  const char *rest = tasks;
  if (!next_word(&rest, &word))
    return err_set(err, ERR_INVALID,
                   "no task is named; wanted are patterns as \"alice-*\", or "
                   "\"own\"");
  do
    if (word.length > NAME_MOST ||
        strspn(word.start, NAME_CHARACTERS "*?") < word.length)
      return err_set(
          err, ERR_INVALID,
          "\"%.*s\" is no pattern of task names: wanted are letters, "
          "digits, \".\", \"_\", \"-\", \"*\" and \"?\", or \"own\"",
          (int)(word.length > 100 ? 100 : word.length), word.start);
  while (next_word(&rest, &word));
  return 0;
}

/* One star at a time is open: the last one takes in what is needed. */
static bool is_match(const char *pattern, size_t length, const char *name) {
  const char *end = pattern + length, *star = NULL, *resume = NULL;
  while (*name != '\0') {
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      resume = name;
    } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
      pattern++;
      name++;
    } else if (star != NULL) {
      pattern = star;
      name = ++resume;
    } else {
      return false;
    }
  }
  while (pattern < end && *pattern == '*')
    pattern++;
  return pattern == end;
}

bool rights_are_whole(const struct rights *rights) {
  if (rights == NULL || rights->tasks == NULL || rights->scopes & SCOPE_ADMIN)
    return true;
  const char *rest = rights->tasks;
  for (struct word word; next_word(&rest, &word);)
    if (word.length == 1 && *word.start == '*')
      return true;
  return false;
}

bool rights_have_own(const struct rights *rights) {
  const char *rest = rights->tasks == NULL ? "" : rights->tasks;
  for (struct word word; next_word(&rest, &word);)
    if (is_own(&word))
      return true;
  return false;
}

bool rights_cover_name(const struct rights *rights, const char *task) {
  if (rights_are_whole(rights))
    return true;
  const char *rest = rights->tasks;
  for (struct word word; next_word(&rest, &word);)
    if (!is_own(&word) && is_match(word.start, word.length, task))
      return true;
  return false;
}

bool rights_cover(const struct rights *rights, const char *task,
                  const char *tenant) {
  if (rights_cover_name(rights, task))
    return true;
  return tenant != NULL && rights->tenant != NULL && rights_have_own(rights) &&
         strcmp(tenant, rights->tenant) == 0;
}

void rights_globs(const struct rights *rights, struct buf *out) {
  const char *rest = rights->tasks == NULL ? "" : rights->tasks;
  const char *comma = "";
  buf_byte(out, '[');
  for (struct word word; next_word(&rest, &word);)
    if (!is_own(&word)) {
      buf_format(out, "%s\"%.*s\"", comma, (int)word.length, word.start);
      comma = ",";
    }
  buf_byte(out, ']');
}

struct rights *rights_copy(const struct rights *rights) {
  if (rights == NULL)
    return NULL;
  size_t tasks = rights->tasks == NULL ? 0 : strlen(rights->tasks) + 1;
  size_t tenant = rights->tenant == NULL ? 0 : strlen(rights->tenant) + 1;
  struct rights *copy = mem_new(sizeof *copy + tasks + tenant);
  char *texts = (char *)(copy + 1);
  *copy = *rights;
  if (tasks != 0)
    copy->tasks = memcpy(texts, rights->tasks, tasks);
  if (tenant != 0)
    copy->tenant = memcpy(texts + tasks, rights->tenant, tenant);
  return copy;
}
