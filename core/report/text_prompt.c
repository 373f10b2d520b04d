/* text_prompt: what a model needs to mend its code, on one page. */
#include "core/report/text.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/report/passage.h"
#include "core/text/characters.h"

#define PROMPT_LIMIT 4000
#define MESSAGE_LIMIT 600
#define SOURCE_LIMIT 1000
#define HINT_LIMIT 700
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

static void append_status(const struct text_source *source, struct buf *out) {
  buf_format(out, "Status: %s: %s", source->status, meaning_of(source));
  passage_ending(source, out);
  buf_text(out, "\n");
}

static void append_error(const struct text_source *source, struct buf *out) {
  const struct json *error = source->error;
  CLEANUP(buf_free) struct buf place = BUF_INIT(BUF_ANSWER);
  if (json_kind(error) != JSON_OBJECT)
    return;
  passage_exception(error, MESSAGE_LIMIT, out);
  passage_causes(error, 2, out);
  passage_place(error, source->status, &place);
  characters_append(buf_string(&place), place.length, SOURCE_LIMIT, out);
}

static void append_survived(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf files = BUF_INIT(BUF_ANSWER);
  const char *state = passage_of_state(source);
  if (state != NULL) {
    buf_format(out, "State: %s", state);
    passage_reason(source, out);
    buf_text(out, "\n");
  }
  passage_files(source->files, 5, &files);
  characters_append(buf_string(&files), files.length, FILES_LIMIT, out);
}

static void append_hint(const struct json *error, struct buf *out) {
  const struct json *hint = json_get(error, "hint");
  if (json_text_length(hint) == 0)
    return;
  buf_text(out, "Hint: ");
  characters_append(json_text(hint), json_text_length(hint), HINT_LIMIT, out);
  passage_end_line(out);
}

static void append_output(const struct text_source *source, size_t room,
                          struct buf *out) {
  static const char heading[] = "Output until then:\n";
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf folded = BUF_INIT(BUF_ANSWER);
  passage_outputs(source, false, &body);
  passage_fold(buf_string(&body), body.length, &folded);
  if (folded.length == 0 || room < sizeof heading + OUTPUT_LEAST)
    return;
  buf_text(out, heading);
  characters_append(buf_string(&folded), folded.length, room - sizeof heading,
                    out);
  passage_end_line(out);
}

int text_prompt(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf front = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf hint = BUF_INIT(BUF_ANSWER);
  if (meaning_of(source) == NULL)
    return 0;
  append_status(source, &front);
  append_error(source, &front);
  append_survived(source, &front);
  passage_notes(source, "Note: ", "", &front);
  append_hint(source->error, &hint);
  size_t taken = utf8_count(front.data, front.length) +
                 utf8_count(buf_string(&hint), hint.length);
  buf_append(out, front.data, front.length);
  append_output(source, taken < PROMPT_LIMIT ? PROMPT_LIMIT - taken : 0, out);
  buf_append(out, buf_string(&hint), hint.length);
  return out->overflowed ? -1 : 0;
}
