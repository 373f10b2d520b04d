/* Texts of the configuration file to values and back. */
#include "core/conf/conf_table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct unit {
  const char *name;
  double factor;
};

static const struct unit size_units[] = {{"", 1},
                                         {"K", 1024.0},
                                         {"M", 1048576.0},
                                         {"G", 1073741824.0},
                                         {"T", 1099511627776.0}};
static const struct unit duration_units[] = {
    {"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

static void *field(const struct conf *conf, const struct conf_key *key) {
  return (char *)(uintptr_t)conf + key->offset;
}

char **conf_value_text(const struct conf *conf, const struct conf_key *key) {
  return (char **)field(conf, key);
}

bool conf_type_is_text(enum conf_type type) { return type >= CONF_WORD; }

/* Decimal digits, with a fraction where allowed; strtod alone would take hex,
 * exponents, "inf" and "nan". Returns what follows, NULL when it is none. */
static const char *read_number(const char *text, bool fraction, double *value) {
  size_t length = strspn(text, "0123456789");
  if (length == 0)
    return NULL;
  if (fraction && text[length] == '.')
    length += 1 + strspn(text + length + 1, "0123456789");
  if (length > 300)
    return NULL;
  CLEANUP(mem_free_pointer) char *digits = mem_copy_bytes(text, length);
  *value = strtod(digits, NULL);
  return text + length;
}

static bool is_fraction(enum conf_type type) {
  return type == CONF_DURATION || type == CONF_DECIMAL;
}

static int read_with_unit(const struct conf_key *key, const char *text,
                          const struct unit *units, size_t count,
                          double *value) {
  double number;
  const char *unit = read_number(text, is_fraction(key->type), &number);
  if (unit == NULL)
    return -1;
  for (size_t i = 0; i < count; i++) {
    if (strcasecmp(unit, units[i].name) != 0)
      continue;
    *value = number * units[i].factor;
    return 0;
  }
  return -1;
}

static int set_number(struct conf *conf, const struct conf_key *key,
                      const char *text) {
  double value;
  bool duration = key->type == CONF_DURATION;
  const struct unit *units = duration ? duration_units : size_units;
  size_t count = duration ? COUNT_OF(duration_units) : COUNT_OF(size_units);
  if (key->type == CONF_INTEGER || key->type == CONF_DECIMAL)
    count = 1; /* no unit at all */
  if (read_with_unit(key, text, units, count, &value) != 0)
    return -1;
  if (value < key->least || value > key->most)
    return -1;
  if (is_fraction(key->type))
    *(double *)field(conf, key) = round(value * 1000) / 1000;
  else
    *(int64_t *)field(conf, key) = (int64_t)value;
  return 0;
}

static int set_switch(struct conf *conf, const struct conf_key *key,
                      const char *text) {
  static const char *const words[] = {"off",  "on", "false",
                                      "true", "no", "yes"};
  for (size_t i = 0; i < COUNT_OF(words); i++) {
    if (strcasecmp(text, words[i]) != 0)
      continue;
    *(bool *)field(conf, key) = i % 2 == 1;
    return 0;
  }
  return -1;
}

static int choice_of(const struct conf_key *key, const char *text) {
  for (int i = 0; key->choices[i] != NULL; i++)
    if (strcmp(text, key->choices[i]) == 0)
      return i;
  return -1;
}

static bool are_paths(const char *text) {
  if (*text == '\0')
    return true;
  for (const char *at = text; at != NULL; at = strchr(at, ':')) {
    at += *at == ':';
    if (*at != '/')
      return false;
  }
  return true;
}

static bool are_pairs(const char *text) {
  for (text += strspn(text, " \t"); *text != '\0';) {
    const char *name = text;
    while (isalnum((unsigned char)*text) || *text == '_')
      text++;
    if (text == name || isdigit((unsigned char)*name) || *text != '=')
      return false;
    text += strcspn(text, " \t");
    text += strspn(text, " \t");
  }
  return true;
}

static bool text_fits(const struct conf_key *key, const char *text) {
  if (key->type == CONF_WORD)
    return choice_of(key, text) >= 0;
  if (strlen(text) > (size_t)key->most)
    return false;
  switch (key->type) {
  case CONF_PATH:
    return *text == '/';
  case CONF_PATHS:
    return are_paths(text);
  case CONF_PAIRS:
    return are_pairs(text);
  default:
    return *text != '\0';
  }
}

int conf_value_set(struct conf *conf, const struct conf_key *key,
                   const char *text) {
  if (key->type == CONF_SWITCH)
    return set_switch(conf, key, text);
  if (key->type == CONF_CHOICE) {
    int choice = choice_of(key, text);
    if (choice >= 0)
      *(int *)field(conf, key) = choice;
    return choice >= 0 ? 0 : -1;
  }
  if (!conf_type_is_text(key->type))
    return set_number(conf, key, text);
  if (!text_fits(key, text))
    return -1;
  char **slot = conf_value_text(conf, key);
  free(*slot);
  *slot = mem_copy_text(text);
  return 0;
}

/* With the largest unit that divides it, so that 16777216 reads 16M. */
static void write_size(double size, struct buf *out) {
  size_t unit = COUNT_OF(size_units) - 1;
  while (unit > 0 && (size < size_units[unit].factor ||
                      fmod(size, size_units[unit].factor) != 0))
    unit--;
  buf_format(out, "%.0f%s", size / size_units[unit].factor,
             size_units[unit].name);
}

static void write_fraction(double number, struct buf *out) {
  buf_format(out, "%.3f", number);
  size_t length = out->length;
  while (length > 0 && out->data[length - 1] == '0')
    length--;
  length -= length > 0 && out->data[length - 1] == '.';
  buf_truncate(out, length);
}

static void write_number(const struct conf_key *key, double value,
                         struct buf *out) {
  if (key->type == CONF_SIZE)
    write_size(value, out);
  else if (is_fraction(key->type))
    write_fraction(value, out);
  else
    buf_format(out, "%.0f", value);
}

void conf_value_write(const struct conf *conf, const struct conf_key *key,
                      struct buf *out) {
  if (conf_type_is_text(key->type))
    buf_text(out, *conf_value_text(conf, key));
  else if (key->type == CONF_SWITCH)
    buf_text(out, *(bool *)field(conf, key) ? "on" : "off");
  else if (key->type == CONF_CHOICE)
    buf_text(out, key->choices[*(int *)field(conf, key)]);
  else if (is_fraction(key->type))
    write_number(key, *(double *)field(conf, key), out);
  else
    write_number(key, (double)*(int64_t *)field(conf, key), out);
}

static void write_choices(const struct conf_key *key, struct buf *out) {
  for (int i = 0; key->choices[i] != NULL; i++) {
    if (i != 0)
      buf_text(out, key->choices[i + 1] == NULL ? " or " : ", ");
    buf_text(out, key->choices[i]);
  }
}

void conf_value_wanted(const struct conf_key *key, struct buf *out) {
  static const char *const kinds[] = {
      [CONF_INTEGER] = "a whole number",
      [CONF_SIZE] = "a size in bytes, as 512K, 10M or 1G",
      [CONF_DURATION] = "seconds, or a duration as 500ms, 5m or 1h",
      [CONF_DECIMAL] = "a number",
      [CONF_SWITCH] = "on or off",
      [CONF_CHOICE] = "",
      [CONF_WORD] = "",
      [CONF_TEXT] = "a text that is not empty",
      [CONF_PATH] = "an absolute path",
      [CONF_PATHS] = "absolute paths with colons between, or nothing",
      [CONF_PAIRS] = "NAME=value pairs with spaces between, or nothing",
  };
  buf_text(out, kinds[key->type]);
  if (key->choices != NULL) {
    write_choices(key, out);
  } else if (conf_type_is_text(key->type)) {
    buf_format(out, ", at most %.0f bytes", key->most);
  } else if (key->type != CONF_SWITCH) {
    buf_text(out, ", from ");
    write_number(key, key->least, out);
    buf_text(out, " to ");
    write_number(key, key->most, out);
  }
}
