#include "core/report/traceback/frame.h"

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

static void write_line(int64_t number, int width, bool arrow, unsigned indent,
                       const char *text, size_t length, struct buf *out) {
  while (length > 0 && strchr(" \t\r", text[length - 1]))
    length--;
  buf_format(out, "%*s%s%*lld%s", (int)indent, "", arrow ? "-> " : "   ", width,
             (long long)number, length ? " " : "");
  characters_append_line(text, length, LINE_LIMIT, out);
  buf_byte(out, '\n');
}

/* Tabs in front of the place are repeated, whatever their width. */
static void write_caret(int64_t column, int width, unsigned indent,
                        const char *text, size_t length, struct buf *out) {
  if (column <= 0 || column > LINE_LIMIT)
    return;
  buf_format(out, "%*s", (int)indent + width + 4, "");
  for (size_t i = 0; i < length && column > 1; i++) {
    if (utf8_is_continuation(text[i]))
      continue;
    buf_byte(out, text[i] == '\t' ? '\t' : ' ');
    column--;
  }
  buf_text(out, "^\n");
}

static void write_code(const struct frame *frame, const struct code *code,
                       unsigned indent, struct buf *out) {
  int64_t first = frame->line > NEIGHBOURS ? frame->line - NEIGHBOURS : 1;
  int64_t last = frame->line + NEIGHBOURS, end = code_last_line(code);
  if (last > end)
    last = end > frame->line ? end : frame->line;
  int64_t column = frame_column(frame, code);
  int width = digits_of(last);
  for (int64_t number = first; number <= last; number++) {
    size_t length;
    const char *text = code_line(code, number, &length);
    write_line(number, width, number == frame->line, indent, text, length, out);
    if (number == frame->line)
      write_caret(column, width, indent, text, length, out);
  }
}

static void write_shown(const struct frame *frame, unsigned indent,
                        struct buf *out) {
  int width = digits_of(frame->line + NEIGHBOURS);
  for (size_t i = 0; i < frame->line_count; i++) {
    const struct frame_line *line = &frame->lines[i];
    if (line->number >= frame->line - NEIGHBOURS &&
        line->number <= frame->line + NEIGHBOURS)
      write_line(line->number, width, line->number == frame->line, indent,
                 line->text, strlen(line->text), out);
  }
  if (frame->line_count == 0 && frame->text != NULL && frame->line > 0)
    write_line(frame->line, width, true, indent, frame->text,
               strlen(frame->text), out);
}

/* A settled frame of the user's cell has no lines of its own any more. */
void frame_write_source(const struct frame *frame, const struct code *code,
                        unsigned indent, struct buf *out) {
  size_t length;
  if (frame->mine && frame->line_count == 0 &&
      code_line(code, frame->line, &length) != NULL)
    write_code(frame, code, indent, out);
  else
    write_shown(frame, indent, out);
}

int64_t frame_column(const struct frame *frame, const struct code *code) {
  size_t length, indent = 0;
  const char *line = frame->caret > 0 && frame->mine
                         ? code_line(code, frame->line, &length)
                         : NULL;
  if (line == NULL)
    return 0;
  /* The kernel shows the line without its indentation. */
  while (indent < length && (line[indent] == ' ' || line[indent] == '\t'))
    indent++;
  return (int64_t)(frame->caret + indent);
}
