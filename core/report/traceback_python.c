/* Reads IPython's tracebacks, from 7 to 9 and in every xmode, into a
 * exceptions.
 *
 * The kernel sends one element per part: a rule, a heading, one per frame, the
 * exception, a sentence between two exceptions of a chain. Only the first line
 * of an element decides what it is, so that a message which looks like a
 * traceback is not taken for one. Formats: IPython/core/ultratb.py and
 * tbtools.py of 7.34, 8.0, 8.4, 8.5, 8.37 and 9.18; tests/fixtures/tracebacks
 * holds what they sent. */
#include "core/report/frames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define ELEMENT_LIMIT ((size_t)8 << 20)
/* Line numbers in IPython's source excerpts end in this column. */
#define NUMBER_COLUMN 7

/* A piece of text that is being read from its front. */
struct cursor {
  const char *at, *end;
};

static size_t rest(const struct cursor *cursor) {
  return (size_t)(cursor->end - cursor->at);
}

static bool take(struct cursor *cursor, const char *text) {
  size_t length = strlen(text);
  if (rest(cursor) < length || memcmp(cursor->at, text, length) != 0)
    return false;
  cursor->at += length;
  return true;
}

static void skip_blanks(struct cursor *cursor) {
  while (cursor->at < cursor->end &&
         (*cursor->at == ' ' || *cursor->at == '\t'))
    cursor->at++;
}

static bool take_number(struct cursor *cursor, int64_t *number) {
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

static struct cursor take_line(struct cursor *cursor) {
  const char *end = memchr(cursor->at, '\n', rest(cursor));
  struct cursor line = {cursor->at, end ? end : cursor->end};
  cursor->at = end ? end + 1 : cursor->end;
  return line;
}

static const char *find(const struct cursor *cursor, const char *text) {
  return memmem(cursor->at, rest(cursor), text, strlen(text));
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

/* ", in f(x)" or " in f" or nothing: what stands behind the place. The top
 * level has no name of its own: <module>, <cell line: 2>. */
static bool take_function(struct cursor *cursor, struct frame *frame) {
  if (!take(cursor, ", in ") && !take(cursor, " in "))
    return cursor->at == cursor->end;
  const char *start = cursor->at;
  const char *end = memchr(start, '(', rest(cursor));
  size_t length = end ? (size_t)(end - start) : rest(cursor);
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
  if (!take(&line, "Cell In") && !take(&line, "Input In"))
    return false;
  skip_blanks(&line);
  if (!take(&line, "[") || !take_number(&line, &frame->cell) ||
      !take(&line, "]"))
    return false;
  frame->kind = FRAME_CELL;
  if (take(&line, ", line ") && !take_number(&line, &frame->line))
    return false;
  return take_function(&line, frame);
}

/* <ipython-input-3-0123456789ab> in f(x): IPython 7. */
static void classify_cell_file(struct frame *frame) {
  struct cursor name = {frame->file, frame->file + strlen(frame->file)};
  if (take(&name, "<ipython-input-")) {
    take_number(&name, &frame->cell);
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
  if (starts_with(file, "<frozen ") || starts_with(file, "<decorator-gen-") ||
      starts_with(file, "<__array_function__") ||
      ((ends_with(file, ".pyx") || ends_with(file, ".pxi")) && file[0] != '/'))
    frame->kind = FRAME_LIBRARY;
}

/* File path:12, in f(x) | File path:12 in f: the number is the first one that
 * has the end or a function behind it. */
static bool read_numbered_file(struct cursor line, struct frame *frame) {
  struct cursor search = line;
  const char *colon;
  while ((colon = memchr(search.at, ':', rest(&search))) != NULL) {
    struct cursor tail = {colon + 1, line.end};
    search.at = colon + 1;
    if (colon > line.at && take_number(&tail, &frame->line) &&
        take_function(&tail, frame)) {
      frame->file = mem_copy_bytes(line.at, (size_t)(colon - line.at));
      return true;
    }
  }
  return false;
}

/* File "path", line 12, in f: Python's own form, IPython 7 for SyntaxError. */
static bool read_quoted_file(struct cursor line, struct frame *frame) {
  const char *end = find(&line, "\", line ");
  if (end == NULL)
    return false;
  struct cursor tail = {end + strlen("\", line "), line.end};
  if (!take_number(&tail, &frame->line) || !take_function(&tail, frame))
    return false;
  frame->file = mem_copy_bytes(line.at, (size_t)(end - line.at));
  return true;
}

/* path in f(x): IPython 7, the line stands at the arrow only. */
static bool read_bare_file(struct cursor line, struct frame *frame) {
  const char *in = find(&line, " in ");
  if (in == NULL || in == line.at)
    return false;
  struct cursor name = {line.at, in}, tail = {in, line.end};
  bool is_path = *line.at == '/' || (*line.at == '~' && in - line.at > 1);
  bool is_tag = *line.at == '<' && in[-1] == '>' &&
                memchr(line.at + 1, '<', rest(&name) - 1) == NULL &&
                memchr(line.at, '\'', rest(&name)) == NULL;
  bool is_source = (in - line.at > 4 && (memcmp(in - 4, ".pyx", 4) == 0 ||
                                         memcmp(in - 4, ".pxi", 4) == 0));
  if ((!is_path && !is_tag && !is_source) || !take_function(&tail, frame))
    return false;
  frame->file = mem_copy_bytes(line.at, rest(&name));
  return true;
}

static bool read_file_heading(struct cursor line, struct frame *frame) {
  bool is_file = take(&line, "File ");
  bool found = is_file && take(&line, "\"") ? read_quoted_file(line, frame)
               : is_file                    ? read_numbered_file(line, frame)
                                            : read_bare_file(line, frame);
  if (found)
    classify_file(frame);
  return found;
}

/* "----> 3 code" and "      4 code": an excerpt line. */
static bool read_excerpt_line(struct cursor line, int64_t *number, bool *arrow,
                              struct cursor *code) {
  struct cursor front = line;
  *arrow = false;
  while (front.at < front.end && *front.at == ' ')
    front.at++;
  const char *dashes = front.at;
  while (front.at < front.end && *front.at == '-')
    front.at++;
  bool dashed = front.at > dashes;
  *arrow = take(&front, ">");
  if (dashed && !*arrow)
    return false;
  take(&front, *arrow ? " " : "");
  if (!take_number(&front, number) || front.at - line.at < NUMBER_COLUMN ||
      (front.at - line.at > NUMBER_COLUMN && *number < 1000000))
    return false;
  if (front.at < front.end && *front.at++ != ' ')
    return false;
  *code = front;
  return true;
}

static void set_text(struct frame *frame, struct cursor text) {
  free(frame->text);
  frame->text = mem_copy_bytes(text.at, rest(&text));
}

/* Blanks and one or more carets: where in the line above the fault is. */
static bool read_caret(struct cursor line, size_t *offset) {
  const char *caret = memchr(line.at, '^', rest(&line));
  if (caret == NULL)
    return false;
  for (const char *at = line.at; at < line.end; at++)
    if (!isspace((unsigned char)*at) && *at != '^')
      return false;
  size_t characters = 0;
  for (const char *at = line.at; at < caret; at++)
    characters += ((unsigned char)*at & 0xC0) != 0x80;
  *offset = characters;
  return true;
}

/* Plain and SyntaxError: the source line indented by four, maybe a caret line
 * and the exception behind it. Docs: "->  code". */
static void read_plain_body(struct cursor body, struct frame *frame) {
  while (body.at < body.end && frame->text == NULL) {
    struct cursor line = take_line(&body);
    if (!take(&line, "    ") && !take(&line, "->  "))
      continue;
    skip_blanks(&line);
    set_text(frame, line);
  }
  struct cursor line = take_line(&body);
  size_t offset;
  if (frame->text != NULL && read_caret(line, &offset) && offset >= 4)
    frame->caret = offset - 4 + 1;
}

static void read_body(struct cursor body, struct frame *frame) {
  struct cursor all = body;
  int64_t before = 0;
  while (body.at < body.end) {
    struct cursor line = take_line(&body), code;
    int64_t number;
    bool arrow;
    if (!read_excerpt_line(line, &number, &arrow, &code) || number <= before)
      continue;
    before = number;
    if (find(&code, "Could not get source, probably due") != NULL)
      return;
    frame_add_line(frame, number, code.at, rest(&code));
    if (!arrow)
      continue;
    set_text(frame, code);
    if (frame->line == 0)
      frame->line = number;
  }
  if (frame->line_count == 0)
    read_plain_body(all, frame);
}

static bool read_frame(struct cursor element, struct link *link) {
  struct frame frame = {.kind = FRAME_FILE};
  skip_blanks(&element);
  struct cursor line = take_line(&element);
  if (!read_cell_heading(line, &frame) && !read_file_heading(line, &frame)) {
    free(frame.function);
    return false;
  }
  read_body(element, &frame);
  *link_add_frame(link) = frame;
  return true;
}

/* [... skipping similar frames: f at line 2 (2970 times)] and IPython 7's
 * "... last 3 frames repeated, from the frame below ..." */
static bool read_skipped(struct cursor line, struct link *link) {
  skip_blanks(&line);
  if (!take(&line, "[... ") && !take(&line, "... "))
    return false;
  const char *close = memchr(line.at, ']', rest(&line));
  struct cursor similar = line;
  if (take(&similar, "skipping similar frames: ")) {
    struct frame *frame = link_add_frame(link);
    frame->kind = FRAME_SKIPPED;
    frame->function = mem_copy_bytes(
        similar.at, (size_t)((close ? close : similar.end) - similar.at));
  } else if (find(&line, " frames repeated") != NULL) {
    struct frame *frame = link_add_frame(link);
    frame->kind = FRAME_SKIPPED;
    frame->function = mem_copy_text("as below");
  }
  return true;
}

static bool is_rule(struct cursor line) {
  while (line.at < line.end && *line.at == '-')
    line.at++;
  return line.at == line.end;
}

/* What IPython says instead of the frames of a SystemExit. */
static bool is_advice(struct cursor line) {
  return take(&line, "An exception has occurred, use %tb to see");
}

/* "KeyError     Traceback (most recent call last)": only where an exception of
 * the chain can start, as messages and notes quote this, too. */
static bool read_start(struct cursor line, struct exceptions *exceptions) {
  const char *words = find(&line, "Traceback (most recent call last)");
  struct link *link = exceptions_last(exceptions);
  if (words == NULL ||
      (link != NULL && (link->count > 0 || link->name || link->message)))
    return false;
  size_t name = (size_t)(words - line.at);
  while (name > 0 && line.at[name - 1] == ' ')
    name--;
  if (memchr(line.at, ' ', name) != NULL ||
      (name > 0 && line.at[name - 1] == ':'))
    return false;
  if (link == NULL)
    link = exceptions_add(exceptions);
  if (name > 0)
    link->name = mem_copy_bytes(line.at, name);
  return true;
}

static bool read_between(struct cursor line, struct exceptions *exceptions) {
  struct link *link = exceptions_last(exceptions);
  if (link == NULL || link->message == NULL)
    return false;
  if (take(&line, "The above exception was the direct cause of"))
    link->reason = LINK_CAUSE;
  else if (take(&line, "During handling of the above exception"))
    link->reason = LINK_CONTEXT;
  else
    return false;
  exceptions_add(exceptions);
  return true;
}

static void read_message(struct cursor element, struct link *link) {
  while (element.end > element.at && isspace((unsigned char)element.end[-1]))
    element.end--;
  if (rest(&element) == 0)
    return;
  char **place = link->message == NULL ? &link->message : &link->notes;
  char *text = mem_copy_bytes(element.at, rest(&element));
  if (*place != NULL) {
    char *longer = mem_format("%s\n%s", *place, text);
    free(text);
    text = longer;
  }
  free(*place);
  *place = text;
}

static void read_element(const char *text, size_t length,
                         struct exceptions *exceptions) {
  struct cursor element = {text, text + length};
  while (element.at < element.end && *element.at == '\n')
    element.at++;
  struct cursor first = element;
  first = take_line(&first);
  if (rest(&first) == 0 || is_rule(first) || is_advice(first) ||
      read_start(first, exceptions) || read_between(first, exceptions))
    return;
  struct link *link = exceptions_last(exceptions);
  if (link == NULL)
    link = exceptions_add(exceptions);
  /* What follows the exception is a note, whatever it looks like. */
  if (link->message == NULL &&
      (read_skipped(first, link) || read_frame(element, link)))
    return;
  read_message(element, link);
}

void exceptions_read_python(const struct json *traceback,
                            struct exceptions *exceptions) {
  for (size_t i = 0; i < json_length(traceback); i++) {
    const struct json *element = json_at(traceback, i);
    struct buf CLEANUP(buf_free) plain = BUF_INIT(ELEMENT_LIMIT);
    if (json_text(element) == NULL ||
        traceback_strip_ansi(json_text(element), json_text_length(element),
                             &plain) < 0)
      continue;
    read_element(buf_string(&plain), plain.length, exceptions);
  }
}
