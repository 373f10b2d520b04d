#include "core/text/ansi.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_CONTROL = 128, MOST_STRING = 2048, ESCAPE = 0x1b };

static enum ansi_kind end_of_text(size_t length, size_t most,
                                  struct ansi_sequence *ret) {
  ret->length = length;
  return length < most ? ANSI_INCOMPLETE : ANSI_BROKEN;
}

static size_t first_number(const char *text, size_t length) {
  size_t number = 0;
  for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
    if (number < 100000)
      number = number * 10 + (size_t)(text[i] - '0');
  return number;
}

/* The end of a run of bytes between `low` and `high`. */
static size_t skip(const char *text, size_t length, size_t i, char low,
                   char high) {
  while (i < length && text[i] >= low && text[i] <= high)
    i++;
  return i;
}

/* CSI (5.4): parameter bytes, intermediate bytes, a final byte. */
static enum ansi_kind read_control(const char *text, size_t length,
                                   size_t start, struct ansi_sequence *ret) {
  size_t parameters = skip(text, length, start, 0x30, 0x3f) - start;
  size_t i = skip(text, length, start + parameters, 0x20, 0x2f);
  bool plain = i == start + parameters;
  for (size_t j = start; j < i && plain; j++)
    plain = text[j] <= ';';
  if (i == length)
    return end_of_text(length, MOST_CONTROL, ret);
  ret->length = i;
  if (i > MOST_CONTROL || text[i] < 0x40 || text[i] == 0x7f)
    return ANSI_BROKEN;
  *ret = (struct ansi_sequence){
      .length = i + 1,
      .final = plain ? text[i] : '\0',
      .parameters = text + start,
      .parameters_length = parameters,
      .number = first_number(text + start, parameters),
  };
  return ANSI_COMPLETE;
}

/* OSC, DCS, SOS, PM and APC (5.6) end with BEL or ST, which is ESC \ or U+009C.
 * Any other control character breaks the string off. */
static enum ansi_kind read_string(const char *text, size_t length, size_t start,
                                  struct ansi_sequence *ret) {
  size_t end = length < MOST_STRING ? length : MOST_STRING;
  ret->length = start;
  for (size_t i = start; i < end; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte >= 0x20 && byte != 0xc2)
      continue;
    bool two = byte == ESCAPE || byte == 0xc2;
    if (two && i + 1 == length)
      break;
    unsigned char next = two ? (unsigned char)text[i + 1] : 0;
    if (byte == 0xc2 && (next < 0x80 || next > 0x9f))
      continue;
    if (byte != '\a' && next != (byte == ESCAPE ? '\\' : 0x9c))
      return ANSI_BROKEN;
    ret->length = two ? i + 2 : i + 1;
    return ANSI_COMPLETE;
  }
  return length < MOST_STRING ? end_of_text(length, MOST_STRING, ret)
                              : ANSI_BROKEN;
}

/* Any other escape sequence (ECMA-35, 13.2): "ESC =", "ESC ( B". */
static enum ansi_kind read_escape(const char *text, size_t length,
                                  struct ansi_sequence *ret) {
  size_t i = skip(text, length, 1, 0x20, 0x2f);
  if (i == length)
    return end_of_text(length, MOST_CONTROL, ret);
  ret->length = i;
  if (i > MOST_CONTROL || text[i] < 0x30 || text[i] == 0x7f)
    return ANSI_BROKEN;
  ret->length = i + 1;
  return ANSI_COMPLETE;
}

/* The byte behind ESC that a C1 control stands for (5.3). */
static char introducer(const char *text) {
  return (unsigned char)text[0] == 0xc2 ? (char)(text[1] - 0x40) : text[1];
}

enum ansi_kind ansi_read(const char *text, size_t length,
                         struct ansi_sequence *ret) {
  *ret = (struct ansi_sequence){.length = length};
  if (length < 2)
    return ANSI_INCOMPLETE;
  switch (introducer(text)) {
  case '[':
    return read_control(text, length, 2, ret);
  case ']':
  case 'P':
  case 'X':
  case '^':
  case '_':
    return read_string(text, length, 2, ret);
  default:
    if (text[0] == ESCAPE)
      return read_escape(text, length, ret);
    ret->length = 2;
    return ANSI_COMPLETE;
  }
}

/* How many bytes at the start of the text are control. */
static size_t control_length(const char *text, size_t length) {
  unsigned char byte = (unsigned char)text[0];
  bool c1 = byte == 0xc2 && length > 1 && (unsigned char)text[1] >= 0x80 &&
            (unsigned char)text[1] <= 0x9f;
  if (byte != ESCAPE && !c1)
    return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
  struct ansi_sequence sequence;
  ansi_read(text, length, &sequence);
  return sequence.length;
}

/* Bytes that begin no control; 0xc2 may begin a C1 control. */
static bool is_ordinary(unsigned char byte) {
  return (byte >= 0x20 || byte == '\n' || byte == '\t') && byte != 0x7f &&
         byte != 0xc2;
}

int ansi_strip(const char *text, size_t length, struct buf *out) {
  size_t start = 0, i = 0;
  while (i < length) {
    while (i < length && is_ordinary((unsigned char)text[i]))
      i++;
    if (i == length)
      break;
    size_t control = control_length(text + i, length - i);
    if (control == 0) {
      i++;
      continue;
    }
    if (buf_append(out, text + start, i - start) < 0)
      return -1;
    i += control;
    start = i;
  }
  return buf_append(out, text + start, length - start);
}
