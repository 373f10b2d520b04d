#include "core/report/html/html_tag.h"

#include <string.h>
#include <strings.h>

static bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static size_t rest(const struct html_reader *reader) {
  return (size_t)(reader->end - reader->at);
}

/* The first byte behind `mark`, or the end. */
static void pass(struct html_reader *reader, const char *mark) {
  const char *found = memmem(reader->at, rest(reader), mark, strlen(mark));
  reader->at = found ? found + strlen(mark) : reader->end;
}

/* The first `>` that no quotes hold, or the end. */
static const char *end_of_tag(const char *at, const char *end) {
  char quote = '\0';
  for (; at < end; at++)
    if (quote != '\0')
      quote = *at == quote ? '\0' : quote;
    else if (*at == '>')
      return at;
    else if ((*at == '"' || *at == '\'') && at[-1] == '=')
      quote = *at;
  return end;
}

static bool starts_tag(const char *at, const char *end) {
  at += end - at > 1 && at[1] == '/' ? 2 : 1;
  return at < end && is_letter(*at);
}

static void read_tag(struct html_reader *reader, struct html_tag *tag) {
  const char *at = reader->at + 1;
  tag->part = HTML_OPEN;
  if (*at == '/') {
    tag->part = HTML_CLOSE;
    at++;
  }
  size_t length = 0;
  for (; at < reader->end && !is_blank(*at) && *at != '>' && *at != '/'; at++)
    if (length < sizeof tag->name - 1)
      tag->name[length++] = is_letter(*at) ? (char)(*at | 0x20) : *at;
  tag->name[length] = '\0';
  const char *end = end_of_tag(at, reader->end);
  tag->text = at;
  tag->length = (size_t)(end - at);
  reader->at = end < reader->end ? end + 1 : end;
}

enum html_part html_next(struct html_reader *reader, struct html_tag *ret) {
  *ret = (struct html_tag){.part = HTML_END};
  while (rest(reader) > 1 && *reader->at == '<' &&
         (reader->at[1] == '!' || reader->at[1] == '?'))
    pass(reader,
         rest(reader) > 3 && memcmp(reader->at, "<!--", 4) == 0 ? "-->" : ">");
  if (reader->at == reader->end)
    return HTML_END;
  if (*reader->at == '<' && starts_tag(reader->at, reader->end)) {
    read_tag(reader, ret);
    return ret->part;
  }
  const char *next = memchr(reader->at + 1, '<', rest(reader) - 1);
  next = next ? next : reader->end;
  *ret = (struct html_tag){.part = HTML_TEXT,
                           .text = reader->at,
                           .length = (size_t)(next - reader->at)};
  reader->at = next;
  return HTML_TEXT;
}

/* Scripts and styles are no markup: only their end tag counts. */
static void skip_raw(struct html_reader *reader, const char *name) {
  size_t length = strlen(name);
  while ((reader->at = memchr(reader->at, '<', rest(reader))) != NULL) {
    if (rest(reader) > length + 1 && reader->at[1] == '/' &&
        strncasecmp(reader->at + 2, name, length) == 0) {
      pass(reader, ">");
      return;
    }
    reader->at++;
  }
  reader->at = reader->end;
}

void html_skip(struct html_reader *reader, const struct html_tag *tag) {
  if (strcmp(tag->name, "script") == 0 || strcmp(tag->name, "style") == 0) {
    skip_raw(reader, tag->name);
    return;
  }
  struct html_tag inner;
  for (size_t depth = 1; depth > 0;) {
    enum html_part part = html_next(reader, &inner);
    if (part == HTML_END)
      return;
    if (part != HTML_TEXT && strcmp(inner.name, tag->name) == 0)
      depth = part == HTML_OPEN ? depth + 1 : depth - 1;
  }
}

/* One attribute at *at: its name and value; false at the end of all. */
static bool next_attribute(const char **at, const char *end, const char **name,
                           size_t *name_length, const char **value,
                           size_t *length) {
  const char *c = *at;
  while (c < end && (is_blank(*c) || *c == '/'))
    c++;
  *name = c;
  while (c < end && !is_blank(*c) && *c != '=' && *c != '/')
    c++;
  *name_length = (size_t)(c - *name);
  *value = c;
  *length = 0;
  if (c < end && *c == '=') {
    c++;
    char quote = c < end && (*c == '"' || *c == '\'') ? *c++ : '\0';
    *value = c;
    while (c < end && (quote ? *c != quote : !is_blank(*c)))
      c++;
    *length = (size_t)(c - *value);
    c += quote && c < end;
  }
  bool moved = c > *at;
  *at = c;
  return moved && *name < end;
}

const char *html_attribute(const struct html_tag *tag, const char *name,
                           size_t *length) {
  const char *at = tag->text, *end = at + tag->length, *found, *value;
  size_t found_length;
  while (at != NULL &&
         next_attribute(&at, end, &found, &found_length, &value, length))
    if (found_length == strlen(name) &&
        strncasecmp(found, name, found_length) == 0)
      return value;
  return NULL;
}

size_t html_number(const struct html_tag *tag, const char *name, size_t most) {
  size_t length, number = 0;
  const char *value = html_attribute(tag, name, &length);
  for (size_t i = 0; value != NULL && i < length && number <= most; i++) {
    if (value[i] < '0' || value[i] > '9')
      break;
    number = number * 10 + (size_t)(value[i] - '0');
  }
  return number == 0 ? 1 : number > most ? most : number;
}
