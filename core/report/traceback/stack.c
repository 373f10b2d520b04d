#include "core/report/traceback/stack.h"

#include <ctype.h>

#include "core/report/traceback/cursor.h"

/* A line that starts a thread's dump. */
static bool is_heading(struct cursor line) {
  return cursor_take(&line, "Current thread ") ||
         cursor_take(&line, "Thread 0x") ||
         cursor_take(&line, "Stack (most recent call first)");
}

/* "…/ipykernel_12/34.py" or "<ipython-input-…>"; the program
 * ".../ipykernel_launcher.py" is no cell. */
static bool names_cell(struct cursor name) {
  const char *found = cursor_find(&name, "/ipykernel_");
  if (found == NULL)
    return cursor_find(&name, "<ipython-input-") != NULL;
  found += strlen("/ipykernel_");
  return found < name.end && isdigit((unsigned char)*found);
}

/* The N of `  File "…/ipykernel_12/34.py", line N in f`, or -1. */
static int64_t cell_line(struct cursor line) {
  int64_t number;
  if (!cursor_take(&line, "  File \""))
    return -1;
  struct cursor name = {line.at, cursor_find(&line, "\", line ")};
  if (name.end == NULL || !names_cell(name))
    return -1;
  line.at = name.end + strlen("\", line ");
  return cursor_take_number(&line, &number) && number > 0 ? number : -1;
}

int64_t stack_running_line(const char *text, size_t length) {
  struct cursor rest = {text, text + length};
  int64_t running = -1;
  while (rest.at < rest.end) {
    struct cursor line = cursor_take_line(&rest);
    if (is_heading(line))
      running = -1;
    int64_t number = cell_line(line);
    if (number > 0)
      running = number;
  }
  return running;
}
