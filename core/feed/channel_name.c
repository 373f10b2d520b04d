#include "core/feed/channel_name.h"

#include <stdbool.h>
#include <string.h>

static bool is_word(const char *word, size_t length, const char *name) {
  return strlen(name) == length && strncmp(word, name, length) == 0;
}

static int add_word(const char *word, size_t length,
                    const struct event_text *event, struct buf *out,
                    struct err *err) {
  const char *value = NULL;
  if (is_word(word, length, "task"))
    value = event->task;
  else if (is_word(word, length, "run"))
    value = event->run;
  else if (is_word(word, length, "kind"))
    value = event->kind;
  else
    return err_set(err, ERR_INVALID,
                   "{%.*s}: known in the name of a channel are {task}, {run} "
                   "and {kind}",
                   length > 100 ? 100 : (int)length, word);
  return value == NULL ? 0 : buf_text(out, value);
}

int channel_name(const char *pattern, const struct event_text *event,
                 struct buf *out, struct err *err) {
  while (*pattern != '\0') {
    size_t plain = strcspn(pattern, "{");
    buf_append(out, pattern, plain);
    pattern += plain;
    const char *end = *pattern == '\0' ? NULL : strchr(pattern, '}');
    if (end == NULL)
      break;
    size_t length = (size_t)(end - pattern) - 1;
    if (add_word(pattern + 1, length, event, out, err) < 0)
      return -1;
    pattern = end + 1;
  }
  return buf_text(out, pattern);
}
