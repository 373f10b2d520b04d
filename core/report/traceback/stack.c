#include "core/report/traceback/stack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A line that starts a thread's dump: "Current thread 0x…" or "Thread 0x…". */
static bool is_heading(const char *line, size_t length) {
  static const char *const headings[] = {"Current thread ", "Thread 0x",
                                         "Stack (most recent call first)"};
  for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
    size_t size = strlen(headings[i]);
    if (length >= size && memcmp(line, headings[i], size) == 0)
      return true;
  }
  return false;
}

static bool contains(const char *text, size_t length, const char *part) {
  return memmem(text, length, part, strlen(part)) != NULL;
}

/* "…/ipykernel_12/34.py" or "<ipython-input-…>"; the program
 * ".../ipykernel_launcher.py" is no cell. */
static bool names_cell(const char *name, size_t length) {
  static const char directory[] = "/ipykernel_";
  const char *found = memmem(name, length, directory, sizeof directory - 1);
  if (found == NULL)
    return contains(name, length, "<ipython-input-");
  const char *digit = found + sizeof directory - 1;
  return digit < name + length && *digit >= '0' && *digit <= '9';
}

/* The N of `  File "…/ipykernel_12/34.py", line N in f`, or -1. */
static int64_t cell_line(const char *line, size_t length) {
  static const char middle[] = "\", line ";
  const char *found = memmem(line, length, middle, sizeof middle - 1);
  if (found == NULL || length < 8 || memcmp(line, "  File \"", 8) != 0)
    return -1;
  if (!names_cell(line, (size_t)(found - line)))
    return -1;
  int64_t number = 0;
  for (const char *c = found + sizeof middle - 1;
       c < line + length && *c >= '0' && *c <= '9' && number < 1000000000; c++)
    number = number * 10 + (*c - '0');
  return number > 0 ? number : -1;
}

int64_t stack_running_line(const char *text, size_t length) {
  int64_t running = -1;
  for (size_t start = 0; start < length;) {
    const char *end = memchr(text + start, '\n', length - start);
    size_t size = end == NULL ? length - start : (size_t)(end - text) - start;
    if (is_heading(text + start, size))
      running = -1;
    int64_t line = cell_line(text + start, size);
    if (line >= 0)
      running = line;
    start += size + 1;
  }
  return running;
}
