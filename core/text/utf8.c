#include "core/text/utf8.h"

/* One row of table 3-7 of the Unicode standard: what the second byte may be
 * after a given first byte. */
struct lead {
  unsigned char first, last; /* range of the first byte */
  unsigned char low, high;   /* range of the second byte */
  unsigned char length;
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool follows(const struct lead *lead, const unsigned char *bytes,
                    size_t size) {
  if (size < lead->length || bytes[1] < lead->low || bytes[1] > lead->high)
    return false;
  for (size_t i = 2; i < lead->length; i++)
    if ((bytes[i] & 0xc0) != 0x80)
      return false;
  return true;
}

size_t utf8_length(const char *text, size_t size) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (size == 0)
    return 0;
  if (bytes[0] < 0x80)
    return 1;
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++)
    if (bytes[0] >= leads[i].first && bytes[0] <= leads[i].last)
      return follows(&leads[i], bytes, size) ? leads[i].length : 0;
  return 0;
}

bool utf8_is_control(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (length == 1)
    return bytes[0] < 0x20 || bytes[0] == 0x7f;
  if (length == 2)
    return bytes[0] == 0xc2 && bytes[1] < 0xa0;
  if (length != 3 || bytes[0] != 0xe2)
    return false;
  unsigned low = (unsigned)bytes[1] << 8 | bytes[2];
  return (low >= 0x80a8 && low <= 0x80ae) || (low >= 0x81a6 && low <= 0x81a9);
}
