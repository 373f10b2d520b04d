/* text_prompt: what a model needs to mend its code, on one page. */
#include "core/base/utf8.h"
#include "core/report/text.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/report/passage.h"
#include "core/text/amount.h"
#include "core/text/characters.h"

#define PROMPT_LIMIT 4000
#define MESSAGE_LIMIT 600
#define SOURCE_LIMIT 1000
#define HINT_LIMIT 700
#define REASON_LIMIT 200
#define FILES_LIMIT 400
/* Below this the output of the run is not worth its heading. */
#define OUTPUT_LEAST 80

/* Some magics show an exception and end well all the same. */
static const char *meaning_of(const struct text_source *source) {
  bool is_ok = source->status != NULL && strcmp(source->status, "ok") == 0;
  if (is_ok && json_kind(source->error) == JSON_OBJECT)
    return "the run ended, but it showed an exception";
  return passage_of_status(source->status);
}

static int append_status(const struct text_source *source, struct buf *out) {
  const char *meaning = meaning_of(source);
  int failed = buf_format(out, "Status: %s: %s", source->status, meaning);
  if (strcmp(source->status, "timeout") == 0 && source->timeout_ms > 0) {
    failed |= buf_text(out, " of ");
    failed |= amount_of_time(source->timeout_ms, out);
  }
  if (source->ended_by != NULL)
    failed |= buf_format(out, ", ended by %s", source->ended_by);
  return failed | buf_text(out, "\n");
}

static int append_error(const struct text_source *source, struct buf *out) {
  const struct json *error = source->error;
  CLEANUP(buf_free) struct buf place = BUF_INIT(BUF_ANSWER);
  if (json_kind(error) != JSON_OBJECT)
    return 0;
  int failed = passage_exception(error, MESSAGE_LIMIT, out);
  failed |= passage_causes(error, 2, out);
  failed |= passage_place(error, source->status, &place);
  return failed |
         characters_append(buf_string(&place), place.length, SOURCE_LIMIT, out);
}

static int append_survived(const struct text_source *source, struct buf *out) {
  const char *state = passage_of_state(source->kernel_state, source->status);
  CLEANUP(buf_free) struct buf files = BUF_INIT(BUF_ANSWER);
  int failed = 0;
  if (state != NULL) {
    failed |= buf_format(out, "State: %s", state);
    if (source->kernel_reason != NULL && source->kernel_reason[0] != '\0') {
      failed |= buf_text(out, " (");
      failed |= characters_append_line(source->kernel_reason,
                                       strlen(source->kernel_reason),
                                       REASON_LIMIT, out);
      failed |= buf_text(out, ")");
    }
    failed |= buf_text(out, "\n");
  }
  failed |= passage_files(source->files, 5, &files);
  return failed |
         characters_append(buf_string(&files), files.length, FILES_LIMIT, out);
}

static int append_hint(const struct json *error, struct buf *out) {
  const struct json *hint = json_get(error, "hint");
  if (json_text_length(hint) == 0)
    return 0;
  int failed = buf_text(out, "Hint: ");
  failed |= characters_append(json_text(hint), json_text_length(hint),
                              HINT_LIMIT, out);
  return failed |
         (out->data[out->length - 1] == '\n' ? 0 : buf_byte(out, '\n'));
}

static int append_output(const struct text_source *source, size_t room,
                         struct buf *out) {
  static const char heading[] = "Output until then:\n";
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf folded = BUF_INIT(BUF_ANSWER);
  if (passage_outputs(source, false, &body) < 0 ||
      passage_fold(buf_string(&body), body.length, &folded) < 0)
    return -1;
  if (folded.length == 0 || room < sizeof heading + OUTPUT_LEAST)
    return 0;
  int failed = buf_text(out, heading);
  failed |= characters_append(buf_string(&folded), folded.length,
                              room - sizeof heading, out);
  return failed |
         (out->data[out->length - 1] == '\n' ? 0 : buf_byte(out, '\n'));
}

int text_prompt(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf front = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_ANSWER);
  if (meaning_of(source) == NULL)
    return 0;
  if (append_status(source, &front) < 0 || append_error(source, &front) < 0 ||
      append_survived(source, &front) < 0 ||
      append_hint(source->error, &hint) < 0)
    return -1;
  size_t taken = utf8_count(front.data, front.length) +
                 utf8_count(buf_string(&hint), hint.length);
  int failed = buf_append(out, front.data, front.length);
  failed |= append_output(source,
                          taken < PROMPT_LIMIT ? PROMPT_LIMIT - taken : 0, out);
  return failed | buf_append(out, buf_string(&hint), hint.length);
}
