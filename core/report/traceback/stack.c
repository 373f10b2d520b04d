#include "core/report/traceback/stack.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

/* The N of `  File "…/ipykernel_12/34.py", line N in f` and the file; 0 for
 * any other line. */
static int64_t cell_line(struct cursor line, struct cursor *file) {
  int64_t number;
  if (!cursor_take(&line, "  File \""))
    return 0;
  *file = (struct cursor){line.at, cursor_find(&line, "\", line ")};
  if (file->end == NULL || !names_cell(*file))
    return 0;
  line.at = file->end + strlen("\", line ");
  return cursor_take_number(&line, &number) ? number : 0;
}

/* The outermost cell of the last dump; where its dump starts. */
static bool find_cell(struct cursor rest, const char **dump,
                      struct cursor *file) {
  bool found = false;
  *dump = rest.at;
  while (rest.at < rest.end) {
    const char *start = rest.at;
    struct cursor line = cursor_take_line(&rest), name;
    if (is_heading(line)) {
      *dump = start;
      found = false;
    } else if (cell_line(line, &name) > 0) {
      *file = name;
      found = true;
    }
  }
  return found;
}

int64_t stack_running_line(const char *text, size_t length) {
  struct cursor rest = {text, text + length}, file, name;
  if (!find_cell(rest, &rest.at, &file))
    return -1;
  while (rest.at < rest.end) {
    int64_t line = cell_line(cursor_take_line(&rest), &name);
    if (line > 0 && cursor_rest(&name) == cursor_rest(&file) &&
        memcmp(name.at, file.at, cursor_rest(&file)) == 0)
      return line;
  }
  return -1;
}

int64_t stack_leading_lines(const char *code, size_t length) {
  int64_t lines = 0;
  for (size_t i = 0; i < length; i++) {
    if (code[i] == '\n')
      lines++;
    else if (strchr(" \t\r\f\v", code[i]) == NULL)
      break;
  }
  return lines;
}
