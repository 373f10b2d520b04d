/* Just enough XML to find the attributes of the outermost <svg> (SVG 2, 8.2
 * and 8.6): no entities, no namespaces prefixes, no nesting. */
#include "core/mime/mime_svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define VALUE_MOST 63
#define PIXELS_MOST 1e9

/* What is still to be read. */
struct cursor {
  const char *at;
  size_t left;
};

static void advance(struct cursor *cursor, size_t count) {
  cursor->at += count;
  cursor->left -= count;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct cursor *cursor) {
  while (cursor->left != 0 && is_space(*cursor->at))
    advance(cursor, 1);
}

static bool skip_text(struct cursor *cursor, const char *text) {
  size_t length = strlen(text);
  if (cursor->left < length || memcmp(cursor->at, text, length) != 0)
    return false;
  advance(cursor, length);
  return true;
}

static bool skip_past(struct cursor *cursor, const char *text) {
  const char *found = memmem(cursor->at, cursor->left, text, strlen(text));
  if (found == NULL)
    return false;
  advance(cursor, (size_t)(found - cursor->at) + strlen(text));
  return true;
}

/* <!DOCTYPE svg …> with or without declarations in brackets. */
static bool skip_doctype(struct cursor *cursor) {
  while (cursor->left != 0 && *cursor->at != '>' && *cursor->at != '[')
    advance(cursor, 1);
  if (cursor->left != 0 && *cursor->at == '[' && !skip_past(cursor, "]"))
    return false;
  return skip_past(cursor, ">");
}

/* Moves to behind "<svg"; false when another element, or none, comes first. */
static bool find_root(struct cursor *cursor) {
  skip_text(cursor, "\xef\xbb\xbf");
  for (;;) {
    skip_space(cursor);
    bool skipped = true;
    if (skip_text(cursor, "<?"))
      skipped = skip_past(cursor, "?>");
    else if (skip_text(cursor, "<!--"))
      skipped = skip_past(cursor, "-->");
    else if (skip_text(cursor, "<!DOCTYPE"))
      skipped = skip_doctype(cursor);
    else
      return skip_text(cursor, "<svg") && cursor->left != 0 &&
             (is_space(*cursor->at) || *cursor->at == '>' ||
              *cursor->at == '/');
    if (!skipped)
      return false;
  }
}

/* Reads one name="value" of the tag; false at its end or when it is broken. */
static bool next_attribute(struct cursor *cursor, struct cursor *name,
                           struct cursor *value) {
  skip_space(cursor);
  *name = *cursor;
  while (cursor->left != 0 && strchr("=>/ \t\r\n", *cursor->at) == NULL)
    advance(cursor, 1);
  name->left = (size_t)(cursor->at - name->at);
  skip_space(cursor);
  if (name->left == 0 || !skip_text(cursor, "="))
    return false;
  skip_space(cursor);
  if (cursor->left == 0 || (*cursor->at != '"' && *cursor->at != '\''))
    return false;
  const char quote[2] = {*cursor->at, '\0'};
  advance(cursor, 1);
  value->at = cursor->at;
  if (!skip_past(cursor, quote))
    return false;
  value->left = (size_t)(cursor->at - value->at) - 1;
  return true;
}

static bool is_named(const struct cursor *name, const char *text) {
  return name->left == strlen(text) && memcmp(name->at, text, name->left) == 0;
}

/* strtod without its hexadecimal numbers, infinities and NaNs. */
static bool read_number(const char **text, double *number) {
  size_t sign = strspn(*text, "+-") != 0 ? 1 : 0;
  const char *digits = *text + sign;
  if (strspn(digits, "0123456789.") == 0 || digits[1] == 'x' ||
      digits[1] == 'X')
    return false;
  char *end;
  *number = strtod(*text, &end);
  bool read = end != *text && isfinite(*number);
  *text = end;
  return read;
}

/* CSS pixels; 0 when the length is relative (%, em) or is none. */
static double read_length(const char *text) {
  static const struct {
    const char *name;
    double pixels;
  } units[] = {{"", 1},           {"px", 1},        {"pt", 96.0 / 72},
               {"pc", 16},        {"in", 96},       {"cm", 96 / 2.54},
               {"mm", 96 / 25.4}, {"Q", 96 / 101.6}};
  double number;
  text += strspn(text, " \t\r\n");
  if (!read_number(&text, &number))
    return 0;
  size_t length = strcspn(text, " \t\r\n");
  for (size_t i = 0; i < COUNT_OF(units); i++)
    if (strlen(units[i].name) == length &&
        strncmp(units[i].name, text, length) == 0)
      return number * units[i].pixels;
  return 0;
}

/* The last two of "min-x min-y width height". */
static void read_view_box(const char *text, double *width, double *height) {
  double numbers[4];
  for (int i = 0; i < 4; i++) {
    text += strspn(text, ", \t\r\n");
    if (!read_number(&text, &numbers[i]))
      return;
  }
  *width = numbers[2];
  *height = numbers[3];
}

struct size {
  double width, height;
};

static void read_attributes(struct cursor *cursor, struct size *given,
                            struct size *box) {
  struct cursor name, value;
  while (next_attribute(cursor, &name, &value)) {
    char text[VALUE_MOST + 1];
    size_t length = value.left < VALUE_MOST ? value.left : VALUE_MOST;
    memcpy(text, value.at, length);
    text[length] = '\0';
    if (is_named(&name, "width"))
      given->width = read_length(text);
    else if (is_named(&name, "height"))
      given->height = read_length(text);
    else if (is_named(&name, "viewBox"))
      read_view_box(text, &box->width, &box->height);
  }
}

static bool is_size(double pixels) {
  return pixels >= 0.5 && pixels <= PIXELS_MOST;
}

int mime_svg_size(const char *text, size_t length, unsigned *width,
                  unsigned *height) {
  struct cursor cursor = {text, length};
  struct size given = {0, 0}, box = {0, 0};
  if (!find_root(&cursor))
    return -1;
  read_attributes(&cursor, &given, &box);
  if (is_size(box.width) && is_size(box.height)) {
    if (given.width <= 0 && given.height <= 0)
      given = box;
    else if (given.width <= 0)
      given.width = given.height * box.width / box.height;
    else if (given.height <= 0)
      given.height = given.width * box.height / box.width;
  }
  if (!is_size(given.width) || !is_size(given.height))
    return -1;
  *width = (unsigned)lround(given.width);
  *height = (unsigned)lround(given.height);
  return 0;
}
