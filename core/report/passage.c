#include "core/report/passage.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/text/amount.h"
#include "core/text/ansi.h"
#include "core/text/characters.h"

#define CAUSE_LIMIT 300
#define REASON_LIMIT 200
#define NOTE_LIMIT 400
#define NOTES_TOLD 3
/* So many calls may leave some out in front of the last one. */
#define CALLS_LISTED 5
/* A run of identical lines is folded when so many repeats and so many bytes
 * of them go: folding must not make the text longer. */
#define FOLD_REPEATS 3
#define FOLD_BYTES 64

void passage_end_line(struct buf *out) {
  if (out->length > 0 && out->data[out->length - 1] != '\n')
    buf_byte(out, '\n');
}

static void append_plain(const char *text, size_t length, size_t limit,
                         struct buf *out) {
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_ANSWER);
  ansi_strip(text, length, &plain);
  characters_append(buf_string(&plain), plain.length, limit, out);
}

/* " of cell In[1], in f" | ", in f" | " of this cell": where a line is. */
static void append_where(const struct json *place, const char *own,
                         struct buf *out) {
  const struct json *cell = json_get(place, "cell");
  const char *function = json_get_text(place, "function");
  if (cell != NULL)
    buf_format(out, " of cell In[%lld]", (long long)json_as_integer(cell, 0));
  else
    buf_text(out, json_has(place, "cell") ? " of an earlier cell" : own);
  if (function != NULL)
    buf_format(out, ", in %s", function);
}

static void append_calls(const struct json *error, struct buf *out) {
  const struct json *calls = json_get(error, "calls");
  /* Lines of one cell need not say which. */
  const char *own = json_has(error, "cell") ? " of this cell" : "";
  size_t count = json_length(calls);
  for (size_t i = 0; i < count; i++) {
    const struct json *call = json_at(calls, i);
    buf_format(out, "%s%sline %lld", i == 0 ? " (called from " : "; ",
               i > 0 && i + 1 == CALLS_LISTED ? "…; " : "",
               (long long)json_get_integer(call, "line", 0));
    append_where(call, own, out);
  }
  buf_text(out, count > 0 ? ")" : "");
}

void passage_place(const struct json *error, const char *status,
                   struct buf *out) {
  int64_t line = json_get_integer(error, "line", -1);
  int64_t column = json_get_integer(error, "column", -1);
  const char *source = json_get_text(error, "source");
  if (line < 0)
    return;
  bool is_error = status == NULL || strcmp(status, "error") == 0 ||
                  strcmp(status, "ok") == 0;
  buf_format(out, "%s in line %lld", is_error ? "Error" : "Stopped",
             (long long)line);
  if (column >= 0)
    buf_format(out, ", column %lld", (long long)column);
  append_where(error, " of the cell", out);
  append_calls(error, out);
  buf_text(out, source ? ":\n" : "\n");
  if (source != NULL)
    buf_text(out, source);
  passage_end_line(out);
}

void passage_exception(const struct json *error, size_t limit,
                       struct buf *out) {
  const struct json *evalue = json_get(error, "evalue");
  const char *ename = json_get_text(error, "ename");
  if (ename == NULL || *ename == '\0')
    ename = "Error";
  append_plain(ename, strlen(ename), 200, out);
  if (json_text_length(evalue) > 0) {
    buf_text(out, ": ");
    append_plain(json_text(evalue), json_text_length(evalue), limit, out);
  }
  passage_end_line(out);
}

/* Libraries wrap an exception in another one of the same text. */
static bool says_the_same(const struct json *cause, const struct json *error) {
  const char *ename = json_get_text(error, "ename");
  const char *evalue = json_get_text(error, "evalue");
  const char *text = json_text(cause);
  size_t length = ename ? strlen(ename) : 0;
  return text != NULL && ename != NULL && evalue != NULL &&
         strncmp(text, ename, length) == 0 &&
         strncmp(text + length, ": ", 2) == 0 &&
         strcmp(text + length + 2, evalue) == 0;
}

void passage_name(const struct json *error, struct buf *out) {
  const char *ename = json_get_text(error, "ename");
  const char *evalue = json_get_text(error, "evalue");
  const char *name = ename != NULL && *ename != '\0'     ? ename
                     : evalue != NULL && *evalue != '\0' ? evalue
                                                         : "an error";
  characters_append_line(name, strlen(name), 200, out);
}

void passage_causes(const struct json *error, size_t most, struct buf *out) {
  const struct json *causes = json_get(error, "causes");
  size_t count = json_length(causes);
  for (size_t i = 0; i < count && i < most; i++) {
    const struct json *cause = json_at(causes, i);
    if (says_the_same(cause, error))
      continue;
    buf_text(out, "Cause: ");
    append_plain(json_text(cause), json_text_length(cause), CAUSE_LIMIT, out);
    passage_end_line(out);
  }
  if (count > most)
    buf_format(out, "… and %zu causes more\n", count - most);
}

static size_t line_length(const char *text, size_t length) {
  const char *end = memchr(text, '\n', length);
  return end ? (size_t)(end - text) + 1 : length;
}

void passage_fold(const char *text, size_t length, struct buf *out) {
  size_t i = 0;
  while (i < length) {
    size_t line = line_length(text + i, length - i);
    size_t next = i + line, same = 1;
    while (length - next >= line && text[next - 1] == '\n' &&
           memcmp(text + i, text + next, line) == 0) {
      next += line;
      same++;
    }
    bool folds = same - 1 >= FOLD_REPEATS && (same - 1) * line >= FOLD_BYTES;
    buf_append(out, text + i, folds ? line : next - i);
    if (folds)
      buf_format(out, "[… the line above %zu times more …]\n", same - 1);
    i = next;
  }
}

void passage_files(const struct json *files, size_t most, struct buf *out) {
  size_t count = json_length(files);
  for (size_t i = 0; i < count && i < most; i++) {
    const struct json *file = json_at(files, i);
    const char *path = json_get_text(file, "path");
    const char *change = json_get_text(file, "change");
    int64_t bytes = json_get_integer(file, "bytes", -1);
    buf_format(out, "[file %s: ", change ? change : "changed");
    append_plain(path ? path : "", path ? strlen(path) : 0, 200, out);
    if (bytes >= 0)
      buf_format(out, ", %lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
    buf_text(out, "]\n");
  }
  if (count > most)
    buf_format(out, "[… and %zu files more]\n", count - most);
}

void passage_notes(const struct text_source *source, const char *before,
                   const char *after, struct buf *out) {
  size_t count = json_length(source->notes);
  for (size_t i = 0; i < count && i < NOTES_TOLD; i++) {
    CLEANUP(buf_free) struct buf note = BUF_INIT(BUF_LINE);
    const struct json *text = json_at(source->notes, i);
    append_plain(json_text(text), json_text_length(text), NOTE_LIMIT, &note);
    buf_format(out, "%s%s%s\n", before, buf_string(&note), after);
  }
  if (count > NOTES_TOLD)
    buf_format(out, "%s%zu more in notes%s\n", before, count - NOTES_TOLD,
               after);
}

void passage_ending(const struct text_source *source, struct buf *out) {
  if (strcmp(source->status, "timeout") == 0 && source->timeout_ms > 0) {
    buf_text(out, " of ");
    amount_of_time(source->timeout_ms, out);
  }
  if (source->ended_by != NULL)
    buf_format(out, ", ended by %s", source->ended_by);
}

void passage_reason(const struct text_source *source, struct buf *out) {
  const char *reason = source->kernel_reason;
  if (reason == NULL || reason[0] == '\0')
    return;
  buf_text(out, " (");
  characters_append_line(reason, strlen(reason), REASON_LIMIT, out);
  buf_text(out, ")");
}

struct word {
  const char *word, *meaning;
};

static const char *look_up(const struct word *words, size_t count,
                           const char *word) {
  for (size_t i = 0; word != NULL && i < count; i++)
    if (strcmp(words[i].word, word) == 0)
      return words[i].meaning;
  return NULL;
}

const char *passage_of_status(const char *status) {
  static const struct word words[] = {
      {"error", "the code raised an exception"},
      {"timeout", "the code did not end within its time limit"},
      {"interrupted", "the run was interrupted"},
      {"cancelled", "the run was cancelled before it started"},
      {"output_limit", "the code wrote more output than one run may"},
      {"oom", "the kernel reached its memory limit"},
      {"kernel_died", "the kernel process ended during the run"},
      {"lost", "how the run ended is not known"},
      {"not_run", "nothing was run"},
  };
  return look_up(words, COUNT_OF(words), status);
}

const char *passage_of_state(const struct text_source *source) {
  static const struct word words[] = {
      {"kept", "variables are kept"},
      {"fresh", "the kernel was started for this run; variables set in it "
                "are kept"},
      {"lost", "all variables are lost"},
  };
  const char *state = source->kernel_state;
  /* A new kernel has what the cell itself has set. */
  if (state != NULL && strcmp(state, "lost") == 0 && !source->died)
    return strcmp(source->status, "ok") == 0
               ? "the variables of earlier cells are lost"
               : "the variables of earlier cells are lost, those of this cell "
                 "are kept";
  return look_up(words, COUNT_OF(words), state);
}
