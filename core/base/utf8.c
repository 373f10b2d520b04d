#include "core/base/utf8.h"

#include <string.h>

#include "core/base/mem.h"

/* How a lead byte constrains what follows (Unicode 15, table 3-7). */
struct lead {
  unsigned char first, last; /* the lead bytes */
  unsigned char following;   /* how many continuation bytes */
  unsigned char low, high;   /* the range of the first of them */
};

static const struct lead leads[] = {
    {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
    {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
    {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
    {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
};

static const struct lead *find_lead(unsigned char byte) {
  for (size_t i = 0; i < COUNT_OF(leads); i++)
    if (byte >= leads[i].first && byte <= leads[i].last)
      return &leads[i];
  return NULL;
}

size_t utf8_step(const char *text, size_t length, bool *valid) {
  const unsigned char *bytes = (const unsigned char *)text;
  *valid = bytes[0] < 0x80;
  if (*valid)
    return 1;
  const struct lead *lead = find_lead(bytes[0]);
  if (lead == NULL)
    return 1;
  unsigned char low = lead->low, high = lead->high;
  for (size_t i = 1; i <= lead->following; i++) {
    if (i == length || bytes[i] < low || bytes[i] > high)
      return i;
    low = 0x80;
    high = 0xBF;
  }
  *valid = true;
  return (size_t)lead->following + 1;
}

size_t utf8_length(const char *text, size_t length) {
  bool valid = false;
  size_t step = length == 0 ? 0 : utf8_step(text, length, &valid);
  return valid ? step : 0;
}

/* How many bytes of ASCII the text begins with, eight at a time. */
static size_t ascii_run(const char *text, size_t length) {
  const uint64_t high_bits = UINT64_C(0x8080808080808080);
  size_t run = 0;
  while (length - run >= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, text + run, sizeof word);
    if ((word & high_bits) != 0)
      break;
    run += sizeof word;
  }
  while (run < length && (unsigned char)text[run] < 0x80)
    run++;
  return run;
}

/* The length of the valid UTF-8 that the text begins with. */
static size_t valid_run(const char *text, size_t length) {
  size_t run = 0;
  for (;;) {
    run += ascii_run(text + run, length - run);
    /* Text that is not ASCII mostly goes on so. */
    while (run < length && (unsigned char)text[run] >= 0x80) {
      size_t step = utf8_length(text + run, length - run);
      if (step == 0)
        return run;
      run += step;
    }
    if (run == length)
      return run;
  }
}

bool utf8_is_valid(const char *text, size_t length) {
  return valid_run(text, length) == length;
}

int utf8_repair(const char *bytes, size_t length, struct buf *out) {
  size_t before = out->length;
  for (;;) {
    size_t run = valid_run(bytes, length);
    if (buf_append(out, bytes, run) < 0)
      break;
    if (run == length)
      return 0;
    bool valid;
    run += utf8_step(bytes + run, length - run, &valid);
    if (buf_text(out, UTF8_REPLACEMENT) < 0)
      break;
    bytes += run;
    length -= run;
  }
  buf_truncate(out, before);
  return -1;
}

size_t utf8_encode(uint32_t point, char bytes[4]) {
  if (point < 0x80) {
    bytes[0] = (char)point;
    return 1;
  }
  size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--) {
    bytes[i] = (char)(0x80 | (point & 0x3F));
    point >>= 6;
  }
  static const unsigned char marks[] = {[2] = 0xC0, [3] = 0xE0, [4] = 0xF0};
  bytes[0] = (char)(marks[length] | point);
  return length;
}

bool utf8_is_control(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (length == 1)
    return bytes[0] < 0x20 || bytes[0] == 0x7F;
  if (length == 2)
    return bytes[0] == 0xC2 && bytes[1] < 0xA0;
  if (length != 3 || bytes[0] != 0xE2)
    return false;
  unsigned low = (unsigned)bytes[1] << 8 | bytes[2];
  return (low >= 0x80A8 && low <= 0x80AE) || (low >= 0x81A6 && low <= 0x81A9);
}

size_t utf8_count(const char *text, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++)
    count += !utf8_is_continuation(text[i]);
  return count;
}

size_t utf8_offset(const char *text, size_t length, size_t count) {
  for (size_t i = 0; i < length; i++)
    if (!utf8_is_continuation(text[i]) && count-- == 0)
      return i;
  return length;
}

size_t utf8_cut(const char *text, size_t length, size_t most) {
  if (length <= most)
    return length;
  while (most > 0 && utf8_is_continuation(text[most]))
    most--;
  return most;
}
