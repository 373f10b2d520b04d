/* The first line of a frame: where it is. Formats of IPython 7 to 9 and of
 * Python itself. */
#include "core/report/traceback/frame.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/text/string.h"

/* ", in f(x)" or " in f" or nothing: what stands behind the place. The top
 * level has no name of its own: <module>, <cell line: 2>. */
static bool take_function(struct cursor *cursor, struct frame *frame) {
  if (!cursor_take(cursor, ", in ") && !cursor_take(cursor, " in "))
    return cursor->at == cursor->end;
  const char *start = cursor->at;
  const char *end = memchr(start, '(', cursor_rest(cursor));
  size_t length = end ? (size_t)(end - start) : cursor_rest(cursor);
  if (length == 0)
    return false;
  cursor->at = cursor->end;
  if (memcmp(start, "<cell", length < 5 ? length : 5) == 0 ||
      (length == 8 && memcmp(start, "<module>", 8) == 0))
    return true;
  frame->function = mem_copy_bytes(start, length);
  return true;
}

/* Cell In[3], line 2, in f(x) | Cell In [3], line 2 in f | Input In [3], in f
 */
static bool read_cell_heading(struct cursor line, struct frame *frame) {
  if (!cursor_take(&line, "Cell In") && !cursor_take(&line, "Input In"))
    return false;
  cursor_skip_blanks(&line);
  if (!cursor_take(&line, "[") || !cursor_take_number(&line, &frame->cell) ||
      !cursor_take(&line, "]"))
    return false;
  frame->kind = FRAME_CELL;
  if (cursor_take(&line, ", line ") && !cursor_take_number(&line, &frame->line))
    return false;
  return take_function(&line, frame);
}

/* <ipython-input-3-0123456789ab> in f(x): IPython 7. */
static void classify_cell_file(struct frame *frame) {
  struct cursor name = {frame->file, frame->file + strlen(frame->file)};
  if (cursor_take(&name, "<ipython-input-")) {
    cursor_take_number(&name, &frame->cell);
    frame->kind = FRAME_CELL;
  } else if (strstr(frame->file, "/ipykernel_") != NULL) {
    frame->kind = FRAME_CELL;
  } else if (strcmp(frame->file, "<timed exec>") == 0 ||
             strcmp(frame->file, "<timed eval>") == 0 ||
             strcmp(frame->file, "<magic-timeit>") == 0) {
    frame->kind = FRAME_MAGIC;
  }
}

static void classify_file(struct frame *frame) {
  static const char *const places[] = {
      "/site-packages/",
      "/dist-packages/",
      "/lib/python3",
      "/lib64/python3",
  };
  const char *file = frame->file;
  frame->kind = FRAME_FILE;
  classify_cell_file(frame);
  if (frame->kind != FRAME_FILE)
    return;
  for (size_t i = 0; i < COUNT_OF(places); i++)
    if (strstr(file, places[i]) != NULL)
      frame->kind = FRAME_LIBRARY;
  if (string_starts_with(file, "<frozen ") ||
      string_starts_with(file, "<decorator-gen-") ||
      string_starts_with(file, "<__array_function__") ||
      ((string_ends_with(file, ".pyx") || string_ends_with(file, ".pxi")) &&
       file[0] != '/'))
    frame->kind = FRAME_LIBRARY;
}

/* File path:12, in f(x) | File path:12 in f: the number is the first one that
 * has the end or a function behind it. */
static bool read_numbered_file(struct cursor line, struct frame *frame) {
  struct cursor search = line;
  const char *colon;
  while ((colon = memchr(search.at, ':', cursor_rest(&search))) != NULL) {
    struct cursor tail = {colon + 1, line.end};
    search.at = colon + 1;
    if (colon > line.at && cursor_take_number(&tail, &frame->line) &&
        take_function(&tail, frame)) {
      frame->file = mem_copy_bytes(line.at, (size_t)(colon - line.at));
      return true;
    }
  }
  return false;
}

/* File "path", line 12, in f: Python's own form, IPython 7 for SyntaxError. */
static bool read_quoted_file(struct cursor line, struct frame *frame) {
  const char *end = cursor_find(&line, "\", line ");
  if (end == NULL)
    return false;
  struct cursor tail = {end + strlen("\", line "), line.end};
  if (!cursor_take_number(&tail, &frame->line) || !take_function(&tail, frame))
    return false;
  frame->file = mem_copy_bytes(line.at, (size_t)(end - line.at));
  return true;
}

/* path in f(x): IPython 7, the line stands at the arrow only. */
static bool read_bare_file(struct cursor line, struct frame *frame) {
  const char *in = cursor_find(&line, " in ");
  if (in == NULL || in == line.at)
    return false;
  struct cursor name = {line.at, in}, tail = {in, line.end};
  bool is_path = *line.at == '/' || (*line.at == '~' && in - line.at > 1);
  bool is_tag = *line.at == '<' && in[-1] == '>' &&
                memchr(line.at + 1, '<', cursor_rest(&name) - 1) == NULL &&
                memchr(line.at, '\'', cursor_rest(&name)) == NULL;
  bool is_source = (in - line.at > 4 && (memcmp(in - 4, ".pyx", 4) == 0 ||
                                         memcmp(in - 4, ".pxi", 4) == 0));
  if ((!is_path && !is_tag && !is_source) || !take_function(&tail, frame))
    return false;
  frame->file = mem_copy_bytes(line.at, cursor_rest(&name));
  return true;
}

static bool read_file_heading(struct cursor line, struct frame *frame) {
  bool is_file = cursor_take(&line, "File ");
  bool found = is_file && cursor_take(&line, "\"")
                   ? read_quoted_file(line, frame)
               : is_file ? read_numbered_file(line, frame)
                         : read_bare_file(line, frame);
  if (found)
    classify_file(frame);
  return found;
}

bool frame_read_heading(struct cursor line, struct frame *frame) {
  if (read_cell_heading(line, frame) || read_file_heading(line, frame))
    return true;
  frame_clear(frame);
  return false;
}
