#include "core/json/json.h"
#include "core/json/json_scan.h"

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
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    if (byte >= leads[i].first && byte <= leads[i].last)
      return &leads[i];
  }
  return NULL;
}

size_t json_utf8_step(const char *text, size_t length, bool *valid) {
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

size_t json_clean_run(const char *text, size_t length) {
  size_t run = 0;
  for (;;) {
    run += json_plain_run(text + run, length - run);
    if (run == length || (unsigned char)text[run] < 0x80)
      return run;
    /* Text that is not ASCII mostly goes on so. */
    while (run < length && (unsigned char)text[run] >= 0x80) {
      bool valid;
      size_t step = json_utf8_step(text + run, length - run, &valid);
      if (!valid)
        return run;
      run += step;
    }
  }
}

/* The length of the valid UTF-8 that `text` begins with. */
static size_t valid_run(const char *text, size_t length) {
  size_t run = 0;
  while (run < length) {
    run += json_clean_run(text + run, length - run);
    if (run == length || (unsigned char)text[run] >= 0x80)
      break;
    run++; /* a quote, a backslash or a control character is valid UTF-8 */
  }
  return run;
}

bool json_utf8_valid(const char *text, size_t length) {
  return valid_run(text, length) == length;
}

int json_utf8_repair(const char *bytes, size_t length, struct buf *out) {
  size_t before = out->length;
  for (;;) {
    size_t run = valid_run(bytes, length);
    if (buf_append(out, bytes, run) < 0)
      break;
    if (run == length)
      return 0;
    bool valid;
    run += json_utf8_step(bytes + run, length - run, &valid);
    if (buf_text(out, JSON_REPLACEMENT) < 0)
      break;
    bytes += run;
    length -= run;
  }
  buf_truncate(out, before);
  return -1;
}
