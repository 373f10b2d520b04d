/* A piece of text that is read from its front. Pure. Internal to core/report.
 */
#ifndef CELLPOST_REPORT_TRACEBACK_CURSOR_H
#define CELLPOST_REPORT_TRACEBACK_CURSOR_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
  const char *at, *end;
};

static inline size_t cursor_rest(const struct cursor *cursor) {
  return (size_t)(cursor->end - cursor->at);
}

static inline bool cursor_take(struct cursor *cursor, const char *text) {
  size_t length = strlen(text);
  if (cursor_rest(cursor) < length || memcmp(cursor->at, text, length) != 0)
    return false;
  cursor->at += length;
  return true;
}

static inline void cursor_skip_blanks(struct cursor *cursor) {
  while (cursor->at < cursor->end &&
         (*cursor->at == ' ' || *cursor->at == '\t'))
    cursor->at++;
}

static inline bool cursor_take_number(struct cursor *cursor, int64_t *number) {
  const char *start = cursor->at;
  int64_t value = 0;
  while (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at) &&
         cursor->at - start < 15)
    value = value * 10 + (*cursor->at++ - '0');
  if (cursor->at == start)
    return false;
  *number = value;
  return true;
}

static inline struct cursor cursor_take_line(struct cursor *cursor) {
  const char *end = memchr(cursor->at, '\n', cursor_rest(cursor));
  struct cursor line = {cursor->at, end ? end : cursor->end};
  cursor->at = end ? end + 1 : cursor->end;
  return line;
}

static inline const char *cursor_find(const struct cursor *cursor,
                                      const char *text) {
  return memmem(cursor->at, cursor_rest(cursor), text, strlen(text));
}

#endif
