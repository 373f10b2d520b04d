/* Reads IPython's tracebacks, from 7 to 9 and in every xmode, into a chain.
 *
 * The kernel sends one element per part: a rule, a heading, one per frame, the
 * exception, a sentence between two of a chain. Only the first line
 * of an element decides what it is, so that a message which looks like a
 * traceback is not taken for one. Formats: IPython/core/ultratb.py and
 * tbtools.py of 7.34, 8.0, 8.4, 8.5, 8.37 and 9.18; tests/fixtures/tracebacks
 * holds what they sent. */
#include "core/report/traceback/chain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/text/ansi.h"

#define ELEMENT_LIMIT ((size_t)8 << 20)
/* Line numbers in IPython's source excerpts end in this column. */
#define NUMBER_COLUMN 7

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
  *arrow = cursor_take(&front, ">");
  if (dashed && !*arrow)
    return false;
  cursor_take(&front, *arrow ? " " : "");
  if (!cursor_take_number(&front, number) ||
      front.at - line.at < NUMBER_COLUMN ||
      (front.at - line.at > NUMBER_COLUMN && *number < 1000000))
    return false;
  if (front.at < front.end && *front.at++ != ' ')
    return false;
  *code = front;
  return true;
}

static void set_text(struct frame *frame, struct cursor text) {
  free(frame->text);
  frame->text = mem_copy_bytes(text.at, cursor_rest(&text));
}

/* Blanks and one or more carets: where in the line above the fault is. */
static bool read_caret(struct cursor line, size_t *offset) {
  const char *caret = memchr(line.at, '^', cursor_rest(&line));
  if (caret == NULL)
    return false;
  for (const char *at = line.at; at < line.end; at++)
    if (!isspace((unsigned char)*at) && *at != '^')
      return false;
  size_t characters = 0;
  for (const char *at = line.at; at < caret; at++)
    characters += !utf8_is_continuation(*at);
  *offset = characters;
  return true;
}

/* Plain and SyntaxError: the source line indented by four, maybe a caret line
 * and the exception behind it. Docs: "->  code". */
static void read_plain_body(struct cursor body, struct frame *frame) {
  while (body.at < body.end && frame->text == NULL) {
    struct cursor line = cursor_take_line(&body);
    if (!cursor_take(&line, "    ") && !cursor_take(&line, "->  "))
      continue;
    cursor_skip_blanks(&line);
    set_text(frame, line);
  }
  struct cursor line = cursor_take_line(&body);
  size_t offset;
  if (frame->text != NULL && read_caret(line, &offset) && offset >= 4)
    frame->caret = offset - 4 + 1;
}

static void read_body(struct cursor body, struct frame *frame) {
  struct cursor all = body;
  int64_t before = 0;
  while (body.at < body.end) {
    struct cursor line = cursor_take_line(&body), code;
    int64_t number;
    bool arrow;
    if (!read_excerpt_line(line, &number, &arrow, &code) || number <= before)
      continue;
    before = number;
    if (cursor_find(&code, "Could not get source, probably due") != NULL)
      return;
    frame_add_line(frame, number, code.at, cursor_rest(&code));
    if (!arrow)
      continue;
    set_text(frame, code);
    if (frame->line == 0)
      frame->line = number;
  }
  if (frame->line_count == 0)
    read_plain_body(all, frame);
}

static bool read_frame(struct cursor element, struct chain_link *link) {
  struct frame frame = {.kind = FRAME_FILE};
  cursor_skip_blanks(&element);
  struct cursor line = cursor_take_line(&element);
  if (!frame_read_heading(line, &frame))
    return false;
  read_body(element, &frame);
  *chain_add_frame(link) = frame;
  return true;
}

/* [... skipping similar frames: f at line 2 (2970 times)] and IPython 7's
 * "... last 3 frames repeated, from the frame below ..." */
static bool read_skipped(struct cursor line, struct chain_link *link) {
  cursor_skip_blanks(&line);
  if (!cursor_take(&line, "[... ") && !cursor_take(&line, "... "))
    return false;
  const char *close = memchr(line.at, ']', cursor_rest(&line));
  struct cursor similar = line;
  if (cursor_take(&similar, "skipping similar frames: ")) {
    struct frame *frame = chain_add_frame(link);
    frame->kind = FRAME_SKIPPED;
    frame->function = mem_copy_bytes(
        similar.at, (size_t)((close ? close : similar.end) - similar.at));
  } else if (cursor_find(&line, " frames repeated") != NULL) {
    struct frame *frame = chain_add_frame(link);
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
  return cursor_take(&line, "An exception has occurred, use %tb to see");
}

/* "KeyError     Traceback (most recent call last)": only where an exception of
 * the chain can start, as messages and notes quote this, too. */
static bool read_start(struct cursor line, struct chain *chain) {
  const char *words = cursor_find(&line, "Traceback (most recent call last)");
  struct chain_link *link = chain_last(chain);
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
    link = chain_add(chain);
  if (name > 0)
    link->name = mem_copy_bytes(line.at, name);
  return true;
}

static bool read_between(struct cursor line, struct chain *chain) {
  struct chain_link *link = chain_last(chain);
  if (link == NULL || link->message == NULL)
    return false;
  if (cursor_take(&line, "The above exception was the direct cause of"))
    link->reason = CHAIN_CAUSE;
  else if (cursor_take(&line, "During handling of the above exception"))
    link->reason = CHAIN_CONTEXT;
  else
    return false;
  chain_add(chain);
  return true;
}

static void read_message(struct cursor element, struct chain_link *link) {
  while (element.end > element.at && isspace((unsigned char)element.end[-1]))
    element.end--;
  if (cursor_rest(&element) == 0)
    return;
  if (link->message == NULL) {
    link->message = mem_copy_bytes(element.at, cursor_rest(&element));
    return;
  }
  if (link->notes.length > 0)
    buf_byte(&link->notes, '\n');
  buf_append(&link->notes, element.at, cursor_rest(&element));
}

static void read_element(const char *text, size_t length, struct chain *chain) {
  struct cursor element = {text, text + length};
  while (element.at < element.end && *element.at == '\n')
    element.at++;
  struct cursor first = element;
  first = cursor_take_line(&first);
  if (cursor_rest(&first) == 0 || is_rule(first) || is_advice(first) ||
      read_start(first, chain) || read_between(first, chain))
    return;
  struct chain_link *link = chain_last(chain);
  if (link == NULL)
    link = chain_add(chain);
  /* What follows the exception is a note, whatever it looks like. */
  if (link->message == NULL &&
      (read_skipped(first, link) || read_frame(element, link)))
    return;
  read_message(element, link);
}

void chain_read_python(const struct json *traceback, struct chain *chain) {
  for (size_t i = 0; i < json_length(traceback); i++) {
    const struct json *element = json_at(traceback, i);
    CLEANUP(buf_free) struct buf plain = BUF_INIT(ELEMENT_LIMIT);
    if (json_text(element) == NULL ||
        ansi_strip(json_text(element), json_text_length(element), &plain) < 0)
      continue;
    read_element(buf_string(&plain), plain.length, chain);
  }
}
