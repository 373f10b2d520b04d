/* Whatever a kernel sends as an error: the report keeps its bounds and holds
 * text without terminal control, and says the same when asked again. The input
 * is parts between bytes 0x1E: settings (style, language, execution count), the
 * cell, ename, evalue, the probe's JSON, then the elements of the traceback. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "core/report/hint/hint.h"
#include "core/report/traceback/traceback.h"
#include "core/text/characters.h"

#define SEPARATOR 0x1E

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
  const char *text;
  size_t length;
};

static struct part take_part(struct part *rest) {
  const char *end =
      rest->length ? memchr(rest->text, SEPARATOR, rest->length) : NULL;
  struct part part = {rest->text,
                      end ? (size_t)(end - rest->text) : rest->length};
  size_t used = part.length + (end != NULL);
  *rest = (struct part){rest->text + used, rest->length - used};
  return part;
}

static struct json *text_of(struct part part) {
  return json_string_n(part.length ? part.text : "", part.length);
}

static void check_text(const struct json *value, size_t most) {
  const char *text = json_text(value);
  size_t length = json_text_length(value);
  if (text == NULL)
    return;
  if (!utf8_is_valid(text, length) || utf8_count(text, length) > most ||
      memchr(text, 0x1B, length) || memchr(text, 0, length))
    abort();
}

static void check(const struct json *report) {
  const struct json *lines = json_get(report, "traceback");
  size_t characters = 0;
  if (json_text(json_get(report, "ename")) == NULL ||
      json_text(json_get(report, "evalue")) == NULL ||
      json_kind(lines) != JSON_ARRAY || json_length(lines) > 200 ||
      json_kind(json_get(report, "causes")) != JSON_ARRAY ||
      json_get_integer(report, "line", 1) < 1)
    abort();
  for (size_t i = 0; i < json_length(lines); i++) {
    check_text(json_at(lines, i), 1001);
    characters += utf8_count(json_text(json_at(lines, i)),
                             json_text_length(json_at(lines, i)));
  }
  if (characters > 16000)
    abort();
  check_text(json_get(report, "ename"), 200);
  check_text(json_get(report, "evalue"), 2000);
  check_text(json_get(report, "source"), 1300);
}

static void report_and_check(const struct traceback_source *source) {
  CLEANUP(json_done) struct json *report = traceback_report(source);
  CLEANUP(json_done) struct json *again = traceback_report(source);
  check(report);
  if (!json_equal(report, again))
    abort();
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_SMALL);
  struct hint_source hint_source = {
      .status = "error",
      .ename = json_get_text(source->error, "ename"),
      .evalue = json_get_text(source->error, "evalue"),
      .probe = source->probe};
  hint_compose(&hint_source, &hint);
  if (!utf8_is_valid(buf_string(&hint), hint.length))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct part rest = {(const char *)data, size};
  struct part settings = take_part(&rest), code = take_part(&rest);
  char bytes[3] = {0};
  if (settings.length > 0)
    memcpy(bytes, settings.text, settings.length < 3 ? settings.length : 3);
  CLEANUP(json_done) struct json *error = json_object();
  json_set(error, "ename", text_of(take_part(&rest)));
  json_set(error, "evalue", text_of(take_part(&rest)));
  struct part probe_text = take_part(&rest);
  CLEANUP(json_done) struct json *probe = NULL;
  struct err err;
  if (probe_text.length > 0)
    json_parse(probe_text.text, probe_text.length, &JSON_RULES_KERNEL, &probe,
               &err);
  struct json *elements = json_array();
  while (rest.length > 0)
    json_push(elements, text_of(take_part(&rest)));
  json_set(error, "traceback", elements);
  CLEANUP(json_done) struct json *cell = text_of(code);
  struct traceback_source source = {
      .error = error,
      .code = json_text(cell),
      .code_length = json_text_length(cell),
      .language = bytes[1] == 'R' ? "R" : "python",
      .execution_count = bytes[2] - '0',
      .style = (enum traceback_style)((unsigned char)bytes[0] % 3),
      .probe = probe};
  report_and_check(&source);
  return 0;
}
