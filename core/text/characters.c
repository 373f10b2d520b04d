#include "core/text/characters.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

/* How far a cut moves to reach a line end: a part of what is kept there. */
#define NEAR_PART 8
#define ZERO_WIDTH_JOINER 0x200D

static uint32_t character_at(const char *text, size_t length, size_t offset) {
  unsigned char first = (unsigned char)text[offset];
  if (first < 0x80)
    return first;
  uint32_t value = first >= 0xF0   ? first & 0x07U
                   : first >= 0xE0 ? first & 0x0FU
                                   : first & 0x1FU;
  for (size_t i = offset + 1; i < length && utf8_is_continuation(text[i]); i++)
    value = value << 6 | ((unsigned char)text[i] & 0x3FU);
  return value;
}

static size_t step_back(const char *text, size_t offset) {
  while (offset > 0 && utf8_is_continuation(text[--offset]))
    continue;
  return offset;
}

/* Combining marks, variation selectors, skin tones: shown with what is in
 * front of them. */
static bool is_extending(uint32_t character) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x0300, 0x036F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
      {0x200D, 0x200D},   {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
      {0x1F3FB, 0x1F3FF}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
    if (character >= ranges[i].first && character <= ranges[i].last)
      return true;
  return false;
}

static bool joins(const char *text, size_t length, size_t offset) {
  if (offset == 0 || offset >= length)
    return false;
  return is_extending(character_at(text, length, offset)) ||
         character_at(text, length, step_back(text, offset)) ==
             ZERO_WIDTH_JOINER;
}

/* The nearest place at or in front of `offset` that splits nothing; gives up
 * after a few characters, as such a run may be of any length. */
static size_t head_boundary(const char *text, size_t length, size_t offset) {
  size_t moved = offset;
  for (int tries = 0; tries < 16 && joins(text, length, moved); tries++)
    moved = step_back(text, moved);
  return joins(text, length, moved) ? offset : moved;
}

static size_t tail_boundary(const char *text, size_t length, size_t offset) {
  size_t moved = offset;
  for (int tries = 0; tries < 16 && joins(text, length, moved); tries++)
    moved += utf8_offset(text + moved, length - moved, 1);
  return joins(text, length, moved) ? offset : moved;
}

static size_t count_line_ends(const char *text, size_t length) {
  size_t lines = 0;
  const char *end = text + length;
  while (text < end && (text = memchr(text, '\n', (size_t)(end - text)))) {
    lines++;
    text++;
  }
  return lines;
}

/* The byte offset in front of the last `count` characters. */
static size_t offset_from_end(const char *text, size_t length, size_t count) {
  while (length > 0 && count-- > 0)
    length = step_back(text, length);
  return length;
}

void characters_cut(const char *text, size_t length, size_t total, size_t keep,
                    struct characters_cut *ret) {
  size_t head = keep / 4, tail = keep - head;
  size_t head_end = utf8_offset(text, length, head);
  size_t tail_start = offset_from_end(text, length, tail);
  const char *line_end = memrchr(text + head_end - head_end / NEAR_PART, '\n',
                                 head_end / NEAR_PART);
  head_end = line_end ? (size_t)(line_end - text) + 1
                      : head_boundary(text, length, head_end);
  line_end = memchr(text + tail_start, '\n', (length - tail_start) / NEAR_PART);
  bool at_line = tail_start > 0 && text[tail_start - 1] == '\n';
  if (!at_line)
    tail_start = line_end ? (size_t)(line_end - text) + 1
                          : tail_boundary(text, length, tail_start);
  /* What is kept is small, what is dropped need not be. */
  size_t tail_length = length - tail_start;
  size_t lines = count_line_ends(text, length);
  *ret = (struct characters_cut){
      .head_end = head_end,
      .tail_start = tail_start,
      .total = total,
      .dropped = total - utf8_count(text, head_end) -
                 utf8_count(text + tail_start, tail_length),
      .total_lines = lines,
      .dropped_lines = lines - count_line_ends(text, head_end) -
                       count_line_ends(text + tail_start, tail_length),
  };
}

#define MARKER_ROOM 60 /* characters of the marker below, at most */

int characters_append(const char *text, size_t length, size_t limit,
                      struct buf *out) {
  size_t total = utf8_count(text, length);
  if (total <= limit)
    return buf_append(out, text, length);
  struct characters_cut cut;
  characters_cut(text, length, total,
                 limit > MARKER_ROOM ? limit - MARKER_ROOM : 0, &cut);
  const char *edge = cut.total_lines ? "\n" : "";
  bool open = cut.head_end > 0 && text[cut.head_end - 1] != '\n';
  if (buf_append(out, text, cut.head_end) < 0 ||
      buf_format(out, "%s[… %zu characters left out …]%s", open ? edge : "",
                 cut.dropped, edge) < 0)
    return -1;
  return buf_append(out, text + cut.tail_start, length - cut.tail_start);
}

int characters_append_line(const char *text, size_t length, size_t limit,
                           struct buf *out) {
  const char *line_end = memchr(text, '\n', length);
  size_t line = line_end ? (size_t)(line_end - text) : length;
  size_t shown = utf8_offset(text, line, limit);
  if (buf_append(out, text, shown) < 0)
    return -1;
  return shown < length ? buf_text(out, "…") : 0;
}
