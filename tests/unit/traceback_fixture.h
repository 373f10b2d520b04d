/* Loads what real kernels sent: tests/fixtures/tracebacks/<name>.json, an
 * object {from, mode, cells, execution_count, error, user_expressions?}; the
 * last cell is the one that failed. A run of n equal characters is kept there
 * as "\u27e6c*n\u27e7" (the escapes, as JSON writes them). */
#ifndef CELLPOST_TESTS_TRACEBACK_FIXTURE_H
#define CELLPOST_TESTS_TRACEBACK_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/report/hint/hint.h"
#include "core/report/traceback/traceback.h"

#define FIXTURES "tests/fixtures/tracebacks"
#define FIXTURE_OPEN "\\u27e6"
#define FIXTURE_CLOSE "\\u27e7"

/* Writes out the runs of the text in place. */
static inline void fixture_expand(struct buf *text) {
  char *open, *end;
  while (text->length > 0 &&
         (open = strstr(text->data, FIXTURE_OPEN)) != NULL) {
    size_t offset = (size_t)(open - text->data);
    char character = open[strlen(FIXTURE_OPEN)];
    size_t count = strtoul(open + strlen(FIXTURE_OPEN "x*"), &end, 10);
    char *rest = mem_copy_text(end + strlen(FIXTURE_CLOSE));
    buf_truncate(text, offset);
    for (size_t i = 0; i < count; i++)
      buf_byte(text, character);
    buf_text(text, rest);
    free(rest);
  }
}

static inline struct json *fixture_load(const char *name) {
  struct buf text = BUF_INIT(BUF_ANSWER);
  struct json *fixture = NULL;
  struct err err = {0};
  char *path = mem_format(FIXTURES "/%s.json", name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fs_read_all(file, &text, &err) < 0)
    fail_msg("%s: cannot be read", path);
  mem_close_descriptor(&file);
  fixture_expand(&text);
  if (json_parse(buf_string(&text), text.length, &JSON_RULES_KERNEL, &fixture,
                 &err) < 0)
    fail_msg("%s: %s", path, err.text);
  buf_free(&text);
  free(path);
  return fixture;
}

static inline struct traceback_source
fixture_source(const struct json *fixture) {
  const struct json *cells = json_get(fixture, "cells");
  const struct json *code = json_at(cells, json_length(cells) - 1);
  bool is_r = strncmp(json_get_text(fixture, "from"), "R ", 2) == 0;
  return (struct traceback_source){
      .error = json_get(fixture, "error"),
      .code = json_text(code),
      .code_length = json_text_length(code),
      .language = is_r ? "R" : "python",
      .execution_count = json_get_integer(fixture, "execution_count", -1),
      .style = TRACEBACK_CONTEXT,
  };
}

/* The report of a fixture in one style, with its probe when it has one. */
static inline struct json *fixture_report(const char *name,
                                          enum traceback_style style) {
  struct json *fixture = fixture_load(name);
  struct json *probe = hint_probe_result(json_get(fixture, "user_expressions"));
  struct traceback_source source = fixture_source(fixture);
  source.style = style;
  source.probe = probe;
  struct json *report = traceback_report(&source);
  json_free(probe);
  json_free(fixture);
  return report;
}

/* The traceback of a report as one text with line ends between. */
static inline char *fixture_lines(const struct json *report) {
  const struct json *lines = json_get(report, "traceback");
  struct buf text = BUF_INIT(BUF_ANSWER);
  for (size_t i = 0; i < json_length(lines); i++) {
    buf_text(&text, i ? "\n" : "");
    buf_append(&text, json_text(json_at(lines, i)),
               json_text_length(json_at(lines, i)));
  }
  return buf_take(&text);
}

#endif
