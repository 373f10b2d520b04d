#include "core/report/hint/hint.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/report/hint/hint_error.h"
#include "core/report/hint/hint_topic.h"
#include "core/text/amount.h"
#include "core/text/ansi.h"
#include "core/text/characters.h"

#define LINE_LIMIT 160

/* The line's number or its text. */
static void add_running_line(struct buf *out, const char *line) {
  if (line == NULL || line[0] == '\0')
    return;
  buf_text(out,
           line[strspn(line, "0123456789")] == '\0' ? " in line " : " in: ");
  characters_append_line(line, strlen(line), LINE_LIMIT, out);
}

static void timed_out(struct hint *hint) {
  const struct hint_source *source = hint->source;
  struct buf *out = hint->out;
  buf_text(out, "The time limit");
  if (source->timeout_ms > 0) {
    buf_text(out, " of ");
    amount_of_time(source->timeout_ms, out);
  }
  buf_text(out, " was reached");
  add_running_line(out, source->running_line);
  buf_text(out, source->state_kept
                    ? ". What the cell assigned until then is still there."
                    : ". The code did not let itself be interrupted, so the "
                      "variables are lost; files are kept.");
  buf_text(out, " Split the work into several cells, make it smaller, or ask "
                "for a larger timeout.");
}

static void wrote_too_much(struct hint *hint) {
  buf_text(hint->out, "Print less (a count, a summary, the first rows), or "
                      "write it to a file.");
  if (!hint->source->state_kept)
    buf_text(hint->out, " All variables are lost; files are kept.");
}

static void memory_exhausted(struct hint *hint) {
  const struct hint_source *source = hint->source;
  struct buf *out = hint->out;
  buf_text(out, "The kernel needed more memory than its limit");
  if (source->memory_limit > 0) {
    buf_text(out, " of ");
    amount_of_bytes(source->memory_limit, out);
  }
  if (source->memory_peak > 0) {
    buf_text(out, " (peak ");
    amount_of_bytes(source->memory_peak, out);
    buf_text(out, ")");
  }
  if (source->state_kept)
    buf_text(out, ", and the cell was interrupted before it was killed. "
                  "Variables are kept. Free what is not needed with del, and "
                  "load less at once (chunks, fewer columns, smaller types).");
  else
    buf_text(out, ". All variables are lost; files are kept. Load less at once "
                  "(chunks, fewer columns, smaller types) and free what is not "
                  "needed with del.");
}

static void run_ended(struct hint *hint) {
  static const struct hint_rule rules[] = {
      {"error", hint_error_compose, NULL},
      {"timeout", timed_out, NULL},
      {"oom", memory_exhausted, NULL},
      {"output_limit", wrote_too_much, NULL},
      {"kernel_died", NULL,
       "All variables are lost; files are kept. Run again the cells that "
       "define what is needed, and leave out what ended the process."},
      {"lost", NULL,
       "The code may have ended or not: look at its effects before it is run "
       "again."},
  };
  hint_rule_apply(hint, rules, COUNT_OF(rules), hint->source->status);
}

/* The probe's view belongs to this error when it is of the same class: the
 * interpreter may still keep an older exception. */
static const struct json *probe_of(const struct hint_source *source) {
  const char *class = json_get_text(source->probe, "class");
  if (class == NULL || source->ename == NULL ||
      strcmp(class, source->ename) != 0)
    return NULL;
  return source->probe;
}

int hint_compose(const struct hint_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  const struct json *probe = probe_of(source);
  struct hint hint = {source, probe, json_get(probe, "seen"), &text};
  run_ended(&hint);
  /* A fragment that starts with a blank stands alone. */
  const char *start = buf_string(&text) + strspn(buf_string(&text), " ");
  return ansi_strip(start, strlen(start), out);
}

const char *hint_of_outputs(const struct json *outputs) {
  const char *sentence = hint_topic_sentence(hint_topic_of_outputs(outputs));
  return *sentence != '\0' ? sentence : NULL;
}
