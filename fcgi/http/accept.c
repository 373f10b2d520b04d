#include "fcgi/http/accept.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SPACE " \t"

/* One media range with its weight in thousandths. */
struct range {
  const char *type;
  size_t length;
  int weight;
};

static bool is_word(const char *text, size_t length, const char *word) {
  return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

static size_t trimmed(const char *text, size_t length) {
  while (length != 0 && strchr(SPACE, text[length - 1]) != NULL)
    length--;
  return length;
}

/* Reads ";name=value" at *at (quotes around the value are left out) and moves
 * past it. False when no parameter follows. */
static bool next_parameter(const char **at, const char **name,
                           size_t *name_length, const char **value,
                           size_t *value_length) {
  const char *text = *at + strspn(*at, SPACE);
  if (*text != ';')
    return false;
  text += 1 + strspn(text + 1, SPACE);
  *name = text;
  *name_length = strcspn(text, "=;," SPACE);
  text += *name_length;
  text += strspn(text, SPACE "=");
  bool quoted = *text == '"';
  *value = text + quoted;
  *value_length = strcspn(*value, quoted ? "\"" : ";," SPACE);
  *at = *value + *value_length + (quoted && (*value)[*value_length] == '"');
  return true;
}

/* "0.8" to 800; what is no weight counts as 0. */
static int read_weight(const char *text) {
  double weight = strtod(text, NULL);
  return weight > 0 && weight <= 1 ? (int)(weight * 1000) : 0;
}

static bool next_range(const char **at, struct range *range) {
  const char *text = *at + strspn(*at, "," SPACE);
  if (*text == '\0')
    return false;
  size_t length = strcspn(text, ";,");
  *range = (struct range){
      .type = text, .length = trimmed(text, length), .weight = 1000};
  const char *name, *value;
  size_t name_length, value_length;
  *at = text + length;
  while (next_parameter(at, &name, &name_length, &value, &value_length))
    if (is_word(name, name_length, "q"))
      range->weight = read_weight(value);
  *at += strcspn(*at, ",");
  return true;
}

enum accept_format accept_negotiate(const char *header) {
  enum accept_format chosen = ACCEPT_JSON;
  int stream = 0, json = 0;
  struct range range;
  while (header != NULL && next_range(&header, &range)) {
    bool sse = is_word(range.type, range.length, "text/event-stream");
    bool lines = is_word(range.type, range.length, "application/x-ndjson");
    if (is_word(range.type, range.length, "application/json"))
      json = range.weight;
    if ((sse || lines) && range.weight > stream) {
      stream = range.weight;
      chosen = sse ? ACCEPT_SSE : ACCEPT_NDJSON;
    }
  }
  return stream < json ? ACCEPT_JSON : chosen;
}

bool accept_is_page(const char *header) {
  int page = 0, json = 0;
  struct range range;
  while (header != NULL && next_range(&header, &range)) {
    if (is_word(range.type, range.length, "text/html"))
      page = range.weight;
    if (is_word(range.type, range.length, "application/json"))
      json = range.weight;
  }
  return page > json;
}

bool accept_is_type(const char *content_type, const char *type) {
  if (content_type == NULL)
    return false;
  const char *at = content_type + strspn(content_type, SPACE);
  size_t length = strcspn(at, ";");
  if (!is_word(at, trimmed(at, length), type))
    return false;
  const char *name, *value;
  size_t name_length, value_length;
  at += length;
  while (next_parameter(&at, &name, &name_length, &value, &value_length))
    if (is_word(name, name_length, "charset") &&
        !is_word(value, value_length, "utf-8") &&
        !is_word(value, value_length, "utf8") &&
        !is_word(value, value_length, "us-ascii"))
      return false;
  return true;
}
