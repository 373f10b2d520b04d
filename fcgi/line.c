#include "fcgi/line.h"

#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"

struct range {
  uint32_t first, last;
};

static const struct range refused[] = {
    {0x00, 0x1f},
    {0x7f, 0x9f},     /* controls: C0, DEL, C1 */
    {0x2028, 0x202e}, /* separators; embeddings, overrides */
    {0x2066, 0x2069}, /* isolates */
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

static bool is_among(uint32_t character, const struct range *ranges,
                     size_t count) {
  for (size_t i = 0; i < count; i++)
    if (character >= ranges[i].first && character <= ranges[i].last)
      return true;
  return false;
}

/* The character at *text, which is moved behind it. */
static uint32_t next_character(const char **text) {
  uint32_t first = (unsigned char)*(*text)++;
  if (first < 0x80)
    return first;
  uint32_t character = first & (first >= 0xf0   ? 0x07
                                : first >= 0xe0 ? 0x0f
                                                : 0x1f);
  while (((unsigned char)**text & 0xc0) == 0x80)
    character = character << 6 | ((unsigned char)*(*text)++ & 0x3f);
  return character;
}

bool line_is_clean(const char *text) {
  bool seen = false;
  while (*text != '\0') {
    uint32_t character = next_character(&text);
    if (is_among(character, refused, COUNT_OF(refused)))
      return false;
    seen = seen || !is_among(character, unseen, COUNT_OF(unseen));
  }
  return seen;
}
