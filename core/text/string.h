/* How a string begins and ends. Pure. */
#ifndef CELLPOST_TEXT_STRING_H
#define CELLPOST_TEXT_STRING_H

#include <stdbool.h>
#include <string.h>

static inline bool string_starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static inline bool string_ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

#endif
