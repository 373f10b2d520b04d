#include "core/report/traceback/code.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void code_init(struct code *code, const char *text, size_t length) {
  const char *end = text + length;
  size_t count = 1;
  for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
    count++;
  uint32_t *starts = mem_array(count + 1, sizeof *starts);
  const char *at = text;
  for (size_t i = 1; i < count; i++) {
    at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    starts[i] = (uint32_t)(at - text);
  }
  starts[count] = (uint32_t)length + 1;
  *code = (struct code){text, length, starts, count};
}

void code_free(struct code *code) {
  free(code->starts);
  *code = (struct code){0};
}

const char *code_line(const struct code *code, int64_t number, size_t *length) {
  if (number < 1 || (uint64_t)number > code->count)
    return NULL;
  const char *line = code->text + code->starts[number - 1];
  *length = code->starts[number] - code->starts[number - 1] - 1;
  if (*length > 0 && line[*length - 1] == '\r')
    --*length;
  return line;
}

int64_t code_last_line(const struct code *code) {
  bool is_open =
      code->count > 1 && code->starts[code->count - 1] == code->length;
  return (int64_t)code->count - is_open;
}

static bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void trim(const char **text, size_t *length) {
  while (*length > 0 && is_space((*text)[*length - 1]))
    --*length;
  while (*length > 0 && is_space(**text)) {
    ++*text;
    --*length;
  }
}

bool code_is_blank(const struct code *code, int64_t number) {
  size_t length = 0;
  const char *line = code_line(code, number, &length);
  trim(&line, &length);
  return line != NULL && length == 0;
}

bool code_says(const struct code *code, int64_t number, const char *text) {
  size_t length, text_length = strlen(text);
  const char *line = code_line(code, number, &length);
  if (line == NULL)
    return false;
  trim(&line, &length);
  trim(&text, &text_length);
  return length == text_length && memcmp(line, text, length) == 0;
}

int64_t code_only_line_with(const struct code *code, const char *part) {
  int64_t found = 0;
  for (int64_t number = 1; number <= (int64_t)code->count; number++) {
    size_t length;
    const char *line = code_line(code, number, &length);
    if (memmem(line, length, part, strlen(part)) == NULL)
      continue;
    if (found > 0)
      return 0;
    found = number;
  }
  return found;
}
