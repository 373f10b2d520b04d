#include "fcgi/http/line.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

struct range {
  uint32_t first, last;
};

static const struct range unseen[] = {
    {0x20, 0x20},
    {0xa0, 0xa0},   /* spaces */
    {0xad, 0xad},   /* soft hyphen */
    {0x61c, 0x61c}, /* Arabic letter mark */
    {0x115f, 0x1160},
    {0x3164, 0x3164}, /* Hangul fillers */
    {0x1680, 0x1680}, /* Ogham space mark */
    {0x180b, 0x180e}, /* Mongolian selectors */
    {0x2000, 0x200f}, /* spaces, joiners, marks */
    {0x202f, 0x202f},
    {0x205f, 0x2065}, /* spaces, invisible operators */
    {0x206a, 0x206f}, /* deprecated format characters */
    {0x2800, 0x2800}, /* blank braille pattern */
    {0x3000, 0x3000}, /* ideographic space */
    {0xfe00, 0xfe0f}, /* variation selectors */
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},   /* no-break space, half-width filler */
    {0xe0000, 0xe0fff}, /* tags, more variation selectors */
};

static bool is_unseen(uint32_t character) {
  for (size_t i = 0; i < COUNT_OF(unseen); i++)
    if (character >= unseen[i].first && character <= unseen[i].last)
      return true;
  return false;
}

static uint32_t character_of(const char *text, size_t length) {
  uint32_t first = (unsigned char)*text;
  if (first < 0x80)
    return first;
  uint32_t character = first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++)
    character = character << 6 | ((unsigned char)text[i] & 0x3f);
  return character;
}

bool line_is_clean(const char *text) {
  bool seen = false;
  for (size_t left = strlen(text); left > 0;) {
    size_t length = utf8_length(text, left);
    if (length == 0 || utf8_is_control(text, length))
      return false;
    seen = seen || !is_unseen(character_of(text, length));
    text += length;
    left -= length;
  }
  return seen;
}
