#include "core/notebook/terminal/terminal_line.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

void terminal_line_init(struct terminal_line *line,
                        const struct terminal_style *start) {
  *line =
      (struct terminal_line){.start = *start, .text = BUF_INIT(SIZE_MAX / 4)};
}

void terminal_line_free(struct terminal_line *line) {
  buf_free(&line->text);
  free(line->cells);
  line->cells = NULL;
}

void terminal_line_reset(struct terminal_line *line,
                         const struct terminal_style *start) {
  buf_reset(&line->text);
  line->in_cells = false;
  line->count = 0;
  line->start = *start;
}

static struct terminal_cell *reserve(struct terminal_line *line, size_t count) {
  if (count > line->capacity) {
    size_t capacity = line->capacity * 2 > count ? line->capacity * 2 : count;
    line->cells = mem_grow(line->cells, capacity, sizeof *line->cells);
    line->capacity = capacity;
  }
  return line->cells;
}

/* Decodes one character; what is no UTF-8 gives U+FFFD for one byte. */
static size_t decode(const char *text, size_t length, uint32_t *character) {
  size_t size = utf8_length(text, length);
  unsigned char first = (unsigned char)text[0];
  uint32_t value = size <= 1 ? first : first & (0x7fU >> size);
  for (size_t i = 1; i < size; i++)
    value = value << 6 | ((unsigned char)text[i] & 0x3fU);
  *character = size == 0 ? 0xfffd : value;
  return size == 0 ? 1 : size;
}

static int encode(uint32_t character, struct buf *out) {
  char bytes[4];
  return buf_append(out, bytes, utf8_encode(character, bytes));
}

/* The length of "ESC [ parameters m" at the start of the text, else 0. */
static size_t colour_length(const char *text, size_t length) {
  if (length < 3 || text[0] != 0x1b || text[1] != '[')
    return 0;
  size_t i = 2;
  while (i < length && ((text[i] >= '0' && text[i] <= ';')))
    i++;
  return i < length && text[i] == 'm' ? i + 1 : 0;
}

void terminal_line_to_cells(struct terminal_line *line) {
  if (line->in_cells)
    return;
  line->in_cells = true;
  line->count = 0;
  struct terminal_style style = line->start;
  const char *text = buf_string(&line->text);
  const char *end = text + line->text.length;
  reserve(line, line->text.length);
  while (text < end) {
    size_t size = colour_length(text, (size_t)(end - text));
    if (size > 0) {
      terminal_style_apply(&style, text + 2, size - 3);
    } else {
      struct terminal_cell *cell = &line->cells[line->count++];
      cell->style = style;
      size = decode(text, (size_t)(end - text), &cell->character);
    }
    text += size;
  }
  buf_reset(&line->text);
}

static void fill(struct terminal_line *line, size_t from, size_t to) {
  static const struct terminal_cell blank = {' ', {0, 0, 0}};
  for (size_t i = from; i < to; i++)
    line->cells[i] = blank;
}

size_t terminal_line_put(struct terminal_line *line, size_t column,
                         const struct terminal_style *style, const char *text,
                         size_t length) {
  reserve(line, (column > line->count ? column : line->count) + length);
  if (column > line->count)
    fill(line, line->count, column);
  const char *end = text + length;
  while (text < end) {
    struct terminal_cell *cell = &line->cells[column++];
    text += decode(text, (size_t)(end - text), &cell->character);
    cell->style = *style;
  }
  if (column > line->count)
    line->count = column;
  return column;
}

void terminal_line_erase(struct terminal_line *line, size_t from, size_t to) {
  if (to < line->count)
    fill(line, from, to);
  else if (from < line->count)
    line->count = from;
}

int terminal_line_write(const struct terminal_line *line,
                        const struct terminal_style *end, struct buf *out) {
  if (!line->in_cells)
    return line->text.length == 0
               ? 0
               : buf_append(out, line->text.data, line->text.length);
  int result = 0;
  const struct terminal_style *style = &line->start;
  for (size_t i = 0; i < line->count; i++) {
    const struct terminal_cell *cell = &line->cells[i];
    result |= terminal_style_write(style, &cell->style, out);
    result |= encode(cell->character, out);
    style = &cell->style;
  }
  return result | terminal_style_write(style, end, out);
}
