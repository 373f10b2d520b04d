#include "core/notebook/terminal/terminal_escape.h"

#include <stdbool.h>

enum { MOST_CONTROL = 128, MOST_COMMAND = 2048 };

static enum terminal_escape_kind incomplete(size_t length, size_t most) {
  return length < most ? TERMINAL_ESCAPE_INCOMPLETE : TERMINAL_ESCAPE_NONE;
}

static size_t first_number(const char *text, size_t length) {
  size_t number = 0;
  for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
    if (number < 100000)
      number = number * 10 + (size_t)(text[i] - '0');
  return number;
}

/* CSI: parameter bytes 0x30..0x3f, intermediate bytes 0x20..0x2f, a final byte
 * 0x40..0x7e. */
static enum terminal_escape_kind read_control(const char *text, size_t length,
                                              struct terminal_escape *ret) {
  size_t i = 2;
  bool private_use = false;
  while (i < length && text[i] >= 0x30 && text[i] <= 0x3f) {
    private_use = private_use || text[i] > ';';
    i++;
  }
  size_t parameters = i - 2;
  while (i < length && text[i] >= 0x20 && text[i] <= 0x2f)
    i++;
  if (i > MOST_CONTROL)
    return TERMINAL_ESCAPE_NONE;
  if (i == length)
    return incomplete(length, MOST_CONTROL);
  if (text[i] < 0x40 || text[i] == 0x7f)
    return TERMINAL_ESCAPE_NONE;
  bool plain = !private_use && i == parameters + 2;
  *ret = (struct terminal_escape){
      .length = i + 1,
      .final = plain ? text[i] : '\0',
      .parameters = text + 2,
      .parameters_length = parameters,
      .number = first_number(text + 2, parameters),
  };
  return TERMINAL_ESCAPE_COMPLETE;
}

/* OSC: ends with BEL or ESC \; any other control byte breaks it off. */
static enum terminal_escape_kind read_command(const char *text, size_t length,
                                              struct terminal_escape *ret) {
  size_t end = length < MOST_COMMAND ? length : MOST_COMMAND;
  for (size_t i = 2; i < end; i++) {
    if ((unsigned char)text[i] >= 0x20)
      continue;
    size_t size = text[i] == '\a' ? 1 : 2;
    if (text[i] == 0x1b && i + 1 == length)
      break;
    if (text[i] != '\a' && (text[i] != 0x1b || text[i + 1] != '\\'))
      return TERMINAL_ESCAPE_NONE;
    *ret = (struct terminal_escape){.length = i + size};
    return TERMINAL_ESCAPE_COMPLETE;
  }
  return incomplete(length, MOST_COMMAND);
}

enum terminal_escape_kind terminal_escape_read(const char *text, size_t length,
                                               struct terminal_escape *ret) {
  if (length < 2)
    return TERMINAL_ESCAPE_INCOMPLETE;
  switch (text[1]) {
  case '[':
    return read_control(text, length, ret);
  case ']':
    return read_command(text, length, ret);
  case '(': /* designates a character set: tput sgr0 sends "ESC ( B" */
  case ')':
    if (length < 3)
      return TERMINAL_ESCAPE_INCOMPLETE;
    *ret = (struct terminal_escape){.length = 3};
    return text[2] >= 0x30 && text[2] < 0x7f ? TERMINAL_ESCAPE_COMPLETE
                                             : TERMINAL_ESCAPE_NONE;
  default:
    return TERMINAL_ESCAPE_NONE;
  }
}

size_t terminal_plain_run(const char *text, size_t length) {
  static const bool special[256] = {
      ['\n'] = true, ['\r'] = true, ['\b'] = true, [0x1b] = true};
  size_t i = 0;
  while (i < length && !special[(unsigned char)text[i]])
    i++;
  return i;
}
