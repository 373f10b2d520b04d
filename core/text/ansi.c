#include "core/text/ansi.h"

#include <stdbool.h>
#include <string.h>

/* The same controls as one C1 byte, which UTF-8 writes as 0xC2 and this. */
#define C1_DCS 0x90
#define C1_CSI 0x9B
#define C1_OSC 0x9D
#define BELL 0x07
#define ESCAPE 0x1B

/* Each skip_ function gets the offset behind the introducer and returns the
 * offset behind the sequence. An unfinished one ends with the text. */

/* Parameter and intermediate bytes, then one final byte. A byte that belongs
 * into no sequence ends it and stays. */
static size_t skip_csi(const char *text, size_t length, size_t i) {
  while (i < length && text[i] >= 0x20 && text[i] <= 0x3F)
    i++;
  return i < length && text[i] >= 0x40 && text[i] <= 0x7E ? i + 1 : i;
}

/* OSC, DCS, SOS, PM and APC run to BEL or ST (ESC \ or U+009C). One that has
 * no end on its line is no such string: only the introducer goes. */
static size_t skip_string(const char *text, size_t length, size_t i) {
  size_t start = i;
  for (; i < length && text[i] != '\n'; i++) {
    if (text[i] == BELL)
      return i + 1;
    if (text[i] == ESCAPE)
      return i + 1 < length && text[i + 1] == '\\' ? i + 2 : i;
    if ((unsigned char)text[i] == 0xC2 && i + 1 < length &&
        (unsigned char)text[i + 1] == 0x9C)
      return i + 2;
  }
  return i == length ? i : start;
}

static size_t skip_escape(const char *text, size_t length, size_t i) {
  if (i >= length)
    return i;
  if (text[i] == '[')
    return skip_csi(text, length, i + 1);
  if (memchr("]PX^_", text[i], 5))
    return skip_string(text, length, i + 1);
  while (i < length && text[i] >= 0x20 && text[i] <= 0x2F)
    i++;
  return i < length && text[i] >= 0x30 && text[i] <= 0x7E ? i + 1 : i;
}

/* U+0080 to U+009F at `i`; returns the offset behind it and its sequence. */
static size_t skip_c1(const char *text, size_t length, size_t i) {
  unsigned char control = (unsigned char)text[i + 1];
  if (control == C1_CSI)
    return skip_csi(text, length, i + 2);
  if (control == C1_DCS || control == 0x98 || control >= C1_OSC)
    return skip_string(text, length, i + 2);
  return i + 2;
}

static size_t skip_control(const char *text, size_t length, size_t i) {
  unsigned char byte = (unsigned char)text[i];
  if (byte == ESCAPE)
    return skip_escape(text, length, i + 1);
  if (byte == 0xC2 && i + 1 < length && (unsigned char)text[i + 1] >= 0x80 &&
      (unsigned char)text[i + 1] <= 0x9F)
    return skip_c1(text, length, i);
  if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
    return i + 1;
  return i;
}

/* Bytes that start no control whatever follows; 0xC2 may start a C1 control. */
static bool is_ordinary(unsigned char byte) {
  return (byte >= 0x20 || byte == '\n' || byte == '\t') && byte != 0x7F &&
         byte != 0xC2;
}

int ansi_strip(const char *text, size_t length, struct buf *out) {
  size_t start = 0, i = 0;
  while (i < length) {
    while (i < length && is_ordinary((unsigned char)text[i]))
      i++;
    if (i == length)
      break;
    size_t next = skip_control(text, length, i);
    if (next == i) {
      i++;
      continue;
    }
    if (buf_append(out, text + start, i - start) < 0)
      return -1;
    start = i = next;
  }
  return buf_append(out, text + start, length - start);
}
