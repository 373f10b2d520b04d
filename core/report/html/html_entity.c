#include "core/report/html/html_entity.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define MOST_NAME 8

/* What libraries write, in the order of strcmp: of the 2,231 names of the
 * standard, those that are met. */
static const struct entity {
  const char name[MOST_NAME];
  uint16_t point;
} entities[] = {
    {"Alpha", 0x391},   {"Beta", 0x392},   {"Delta", 0x394},
    {"Gamma", 0x393},   {"Lambda", 0x39B}, {"Omega", 0x3A9},
    {"Phi", 0x3A6},     {"Pi", 0x3A0},     {"Psi", 0x3A8},
    {"Sigma", 0x3A3},   {"Theta", 0x398},  {"agrave", 0xE0},
    {"alpha", 0x3B1},   {"amp", '&'},      {"apos", '\''},
    {"asymp", 0x2248},  {"auml", 0xE4},    {"beta", 0x3B2},
    {"bull", 0x2022},   {"cent", 0xA2},    {"chi", 0x3C7},
    {"copy", 0xA9},     {"darr", 0x2193},  {"deg", 0xB0},
    {"delta", 0x3B4},   {"divide", 0xF7},  {"eacute", 0xE9},
    {"egrave", 0xE8},   {"emsp", ' '},     {"ensp", ' '},
    {"epsilon", 0x3B5}, {"equiv", 0x2261}, {"eta", 0x3B7},
    {"euro", 0x20AC},   {"frac12", 0xBD},  {"gamma", 0x3B3},
    {"ge", 0x2265},     {"gt", '>'},       {"harr", 0x2194},
    {"hellip", 0x2026}, {"iexcl", 0xA1},   {"infin", 0x221E},
    {"int", 0x222B},    {"isin", 0x2208},  {"kappa", 0x3BA},
    {"lambda", 0x3BB},  {"laquo", 0xAB},   {"larr", 0x2190},
    {"ldquo", 0x201C},  {"le", 0x2264},    {"lsquo", 0x2018},
    {"lt", '<'},        {"mdash", 0x2014}, {"micro", 0xB5},
    {"middot", 0xB7},   {"minus", 0x2212}, {"mu", 0x3BC},
    {"nabla", 0x2207},  {"nbsp", ' '},     {"ndash", 0x2013},
    {"ne", 0x2260},     {"nu", 0x3BD},     {"omega", 0x3C9},
    {"ouml", 0xF6},     {"para", 0xB6},    {"part", 0x2202},
    {"permil", 0x2030}, {"phi", 0x3C6},    {"pi", 0x3C0},
    {"plusmn", 0xB1},   {"pound", 0xA3},   {"prod", 0x220F},
    {"psi", 0x3C8},     {"quot", '"'},     {"radic", 0x221A},
    {"raquo", 0xBB},    {"rarr", 0x2192},  {"rdquo", 0x201D},
    {"reg", 0xAE},      {"rho", 0x3C1},    {"rsquo", 0x2019},
    {"sect", 0xA7},     {"sigma", 0x3C3},  {"sum", 0x2211},
    {"sup2", 0xB2},     {"sup3", 0xB3},    {"szlig", 0xDF},
    {"tau", 0x3C4},     {"theta", 0x3B8},  {"thinsp", ' '},
    {"times", 0xD7},    {"trade", 0x2122}, {"uarr", 0x2191},
    {"uuml", 0xFC},     {"xi", 0x3BE},     {"yen", 0xA5},
    {"zeta", 0x3B6},    {"zwj", 0x200D},
};

static int compare_name(const void *key, const void *entry) {
  return strcmp(key, ((const struct entity *)entry)->name);
}

/* "#60;" or "#x3c;" behind the `&`. */
static size_t read_number(const char *text, size_t length, uint32_t *point) {
  size_t i = 1;
  unsigned base = 10;
  if (i < length && (text[i] == 'x' || text[i] == 'X')) {
    base = 16;
    i++;
  }
  size_t start = i;
  uint32_t value = 0;
  for (; i < length && value <= 0x10FFFF; i++) {
    char c =
        text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 0x20) : text[i];
    unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                     : base == 16 && c >= 'a' && c <= 'f'
                         ? (unsigned)(c - 'a') + 10
                         : 16;
    if (digit >= base)
      break;
    value = value * base + digit;
  }
  if (i == start)
    return 0;
  *point = value;
  return i < length && text[i] == ';' ? i + 1 : i;
}

/* "lt;" behind the `&`; the semicolon may be missing behind the oldest ones,
 * which only HTML's own text does: it is asked for. */
static size_t read_name(const char *text, size_t length, uint32_t *point) {
  char name[MOST_NAME] = "";
  size_t i = 0;
  while (i < length && i < sizeof name - 1 && text[i] != ';') {
    name[i] = text[i];
    i++;
  }
  const struct entity *found = i < length && text[i] == ';'
                                   ? bsearch(name, entities, COUNT_OF(entities),
                                             sizeof entities[0], compare_name)
                                   : NULL;
  if (found == NULL)
    return 0;
  *point = found->point;
  return i + 1;
}

size_t html_entity(const char *text, size_t length, char ret[4],
                   size_t *ret_length) {
  uint32_t point;
  size_t taken = length > 1 && text[1] == '#'
                     ? read_number(text + 1, length - 1, &point)
                     : read_name(text + 1, length - 1, &point);
  if (taken == 0)
    return 0;
  bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point > 0x10FFFF || is_surrogate)
    point = 0xFFFD;
  *ret_length = utf8_encode(point == 0xA0 ? ' ' : point, ret);
  if (utf8_is_control(ret, *ret_length))
    *ret_length = 0;
  return taken + 1;
}
