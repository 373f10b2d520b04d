#include "core/notebook/terminal/terminal_style.h"

#include "core/base/mem.h"

enum { BASIC = 1, PALETTE = 2, RGB = 3 };
enum { MOST_PARAMETERS = 32 };

/* What codes 21..29 switch off (ECMA-48, 8.3.117). */
static const uint32_t off_flags[10] = {
    [2] = 1U << 1 | 1U << 2, [3] = 1U << 3, [4] = 1U << 4,
    [5] = 1U << 5 | 1U << 6, [7] = 1U << 7, [8] = 1U << 8,
    [9] = 1U << 9,
};

struct parameter {
  unsigned value;
  bool joined; /* a ':' stands in front of it */
};

bool terminal_style_equal(const struct terminal_style *a,
                          const struct terminal_style *b) {
  return a->foreground == b->foreground && a->background == b->background &&
         a->flags == b->flags;
}

static size_t split(const char *text, size_t length,
                    struct parameter parameters[MOST_PARAMETERS]) {
  size_t count = 1;
  parameters[0] = (struct parameter){0, false};
  for (size_t i = 0; i < length; i++) {
    struct parameter *last = &parameters[count - 1];
    if (text[i] >= '0' && text[i] <= '9') {
      if (last->value < 100000)
        last->value = last->value * 10 + (unsigned)(text[i] - '0');
    } else if (count < MOST_PARAMETERS) {
      parameters[count++] = (struct parameter){0, text[i] == ':'};
    }
  }
  return count;
}

/* Reads the colour behind 38 or 48; returns how many parameters it took. The
 * form with colons may carry a colour space in front of the three values. */
static size_t extended_colour(const struct parameter *next, size_t count,
                              uint32_t *colour) {
  size_t joined = 0;
  while (joined < count && next[joined].joined)
    joined++;
  if (count >= 2 && next[0].value == 5) {
    *colour = (uint32_t)PALETTE << 24 | (next[1].value & 0xff);
    return joined > 2 ? joined : 2;
  }
  if (count >= 4 && next[0].value == 2) {
    const struct parameter *red = joined >= 5 ? next + 2 : next + 1;
    *colour = (uint32_t)RGB << 24 | (red[0].value & 0xff) << 16 |
              (red[1].value & 0xff) << 8 | (red[2].value & 0xff);
    return joined > 4 ? joined : 4;
  }
  return joined;
}

static bool is_foreground(unsigned code) {
  return (code >= 30 && code <= 37) || (code >= 90 && code <= 97);
}

static bool is_background(unsigned code) {
  return (code >= 40 && code <= 47) || (code >= 100 && code <= 107);
}

static void apply_code(struct terminal_style *style, unsigned code) {
  if (code == 0)
    *style = (struct terminal_style){0, 0, 0};
  else if (code <= 9)
    style->flags |= 1U << code;
  else if (code >= 20 && code <= 29)
    style->flags &= ~off_flags[code - 20];
  else if (is_foreground(code))
    style->foreground = (uint32_t)BASIC << 24 | code;
  else if (is_background(code))
    style->background = (uint32_t)BASIC << 24 | code;
  else if (code == 39)
    style->foreground = 0;
  else if (code == 49)
    style->background = 0;
}

void terminal_style_apply(struct terminal_style *style, const char *parameters,
                          size_t length) {
  struct parameter parts[MOST_PARAMETERS];
  size_t count = split(parameters, length, parts);
  for (size_t i = 0; i < count; i++) {
    unsigned code = parts[i].value;
    if (code == 38 || code == 48)
      i +=
          extended_colour(parts + i + 1, count - i - 1,
                          code == 38 ? &style->foreground : &style->background);
    else if (code == 4 && i + 1 < count && parts[i + 1].joined)
      apply_code(style, parts[++i].value == 0 ? 24 : 4);
    else if (!parts[i].joined)
      apply_code(style, code);
  }
}

/* Appends ";<codes>" for one colour; `base` is 38 or 48. */
static void write_colour(uint32_t colour, unsigned base, struct buf *out) {
  uint32_t value = colour & 0xffffff;
  switch (colour >> 24) {
  case BASIC:
    buf_format(out, ";%u", value);
    break;
  case PALETTE:
    buf_format(out, ";%u;5;%u", base, value);
    break;
  case RGB:
    buf_format(out, ";%u;2;%u;%u;%u", base, value >> 16, value >> 8 & 0xff,
               value & 0xff);
    break;
  default:
    break;
  }
}

int terminal_style_write(const struct terminal_style *from,
                         const struct terminal_style *to, struct buf *out) {
  if (terminal_style_equal(from, to))
    return 0;
  static const struct terminal_style plain = {0, 0, 0};
  if (terminal_style_equal(to, &plain))
    return buf_text(out, "\x1b[0m");
  CLEANUP(buf_free) struct buf codes = BUF_INIT(BUF_LINE);
  bool reset = (from->flags & ~to->flags) != 0 ||
               (from->foreground != 0 && to->foreground == 0) ||
               (from->background != 0 && to->background == 0);
  if (reset)
    buf_text(&codes, ";0");
  const struct terminal_style *known = reset ? &plain : from;
  for (unsigned code = 1; code <= 9; code++)
    if ((to->flags & ~known->flags & 1U << code) != 0)
      buf_format(&codes, ";%u", code);
  if (to->foreground != known->foreground)
    write_colour(to->foreground, 38, &codes);
  if (to->background != known->background)
    write_colour(to->background, 48, &codes);
  return buf_format(out, "\x1b[%sm", buf_string(&codes) + 1);
}
