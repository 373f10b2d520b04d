/* The source around the place of an error, as a model reads it:
 *      1 a = 1
 *   -> 2 b = a / 0 */
#include "core/base/utf8.h"
#include "core/report/traceback/frames.h"

#include <string.h>

#include "core/text/characters.h"

#define NEIGHBOURS 2
#define LINE_LIMIT 200

static int digits_of(int64_t number) {
  int digits = 1;
  while (number >= 10) {
    number /= 10;
    digits++;
  }
  return digits;
}

static int write_line(int64_t number, int width, bool arrow, unsigned indent,
                      const char *text, size_t length, struct buf *out) {
  while (length > 0 && strchr(" \t\r", text[length - 1]))
    length--;
  int failed =
      buf_format(out, "%*s%s%*lld%s", (int)indent, "", arrow ? "-> " : "   ",
                 width, (long long)number, length ? " " : "");
  failed |= characters_append_line(text, length, LINE_LIMIT, out);
  return failed | buf_byte(out, '\n');
}

/* Tabs in front of the place are repeated, whatever their width. */
static int write_caret(int64_t column, int width, unsigned indent,
                       const char *text, size_t length, struct buf *out) {
  if (column <= 0 || column > LINE_LIMIT)
    return 0;
  int failed = buf_format(out, "%*s", (int)indent + width + 4, "");
  for (size_t i = 0; i < length && column > 1; i++) {
    if (utf8_is_continuation(text[i]))
      continue;
    failed |= buf_byte(out, text[i] == '\t' ? '\t' : ' ');
    column--;
  }
  return failed | buf_text(out, "^\n");
}

static int write_code(const struct frame *frame, const char *code,
                      size_t code_length, unsigned indent, struct buf *out) {
  int64_t first = frame->line > NEIGHBOURS ? frame->line - NEIGHBOURS : 1;
  int64_t last = frame->line + NEIGHBOURS;
  int64_t column = frame_column(frame, code, code_length);
  int failed = 0;
  size_t length;
  const char *text;
  /* An empty line behind the last line end is none of the user's. */
  while (last > frame->line &&
         ((text = code_line(code, code_length, last, &length)) == NULL ||
          text == code + code_length))
    last--;
  int width = digits_of(last);
  for (int64_t number = first; number <= last; number++) {
    text = code_line(code, code_length, number, &length);
    failed |= write_line(number, width, number == frame->line, indent, text,
                         length, out);
    if (number == frame->line)
      failed |= write_caret(column, width, indent, text, length, out);
  }
  return failed;
}

static int write_shown(const struct frame *frame, unsigned indent,
                       struct buf *out) {
  int width = digits_of(frame->line + NEIGHBOURS);
  int failed = 0;
  for (size_t i = 0; i < frame->line_count; i++) {
    const struct frame_line *line = &frame->lines[i];
    if (line->number >= frame->line - NEIGHBOURS &&
        line->number <= frame->line + NEIGHBOURS)
      failed |= write_line(line->number, width, line->number == frame->line,
                           indent, line->text, strlen(line->text), out);
  }
  if (frame->line_count == 0 && frame->text != NULL && frame->line > 0)
    failed |= write_line(frame->line, width, true, indent, frame->text,
                         strlen(frame->text), out);
  return failed;
}

/* Settled frames of the user's cell have no lines of their own any more. */
int frame_write_source(const struct frame *frame, const char *code,
                       size_t code_length, unsigned indent, struct buf *out) {
  size_t length;
  if (frame->mine && frame->line_count == 0 && frame->line > 0 &&
      code_line(code, code_length, frame->line, &length) != NULL)
    return write_code(frame, code, code_length, indent, out);
  return write_shown(frame, indent, out);
}

int64_t frame_column(const struct frame *frame, const char *code,
                     size_t code_length) {
  size_t length, indent = 0;
  if (frame->caret == 0 || !frame->mine || frame->line <= 0)
    return 0;
  const char *line = code_line(code, code_length, frame->line, &length);
  if (line == NULL)
    return 0;
  /* The kernel shows the line without its indentation. */
  while (indent < length && (line[indent] == ' ' || line[indent] == '\t'))
    indent++;
  return (int64_t)(frame->caret + indent);
}
