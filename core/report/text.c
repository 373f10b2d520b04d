#include "core/report/text.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/report/passage.h"
#include "core/text/characters.h"

#define FILES_TOLD 20

static void compose_body(const struct text_source *source, struct buf *out) {
  passage_outputs(source, true, out);
  passage_late(source, out);
  if (json_length(source->files) > 0)
    passage_end_line(out);
  passage_files(source->files, FILES_TOLD, out);
}

/* Notes, a hint, then "[timeout: the code did not end within its time limit of
 * 2 s, ended by SIGINT; variables are kept]"; nothing when the run ended ok and
 * the variables are there. */
static void compose_last_line(const struct text_source *source,
                              struct buf *out) {
  const char *meaning = passage_of_status(source->status);
  const char *state = passage_of_state(source);
  const char *ename = json_get_text(source->error, "ename");
  bool is_lost =
      source->kernel_state != NULL && strcmp(source->kernel_state, "lost") == 0;
  passage_notes(source, "[note: ", "]", out);
  if (source->hint != NULL)
    buf_format(out, "[hint: %s]\n", source->hint);
  if (meaning == NULL && !is_lost)
    return;
  buf_format(out, "[%s%s", source->status, meaning != NULL ? ": " : "");
  if (strcmp(source->status, "error") == 0 && ename != NULL)
    passage_name(source->error, out);
  else if (meaning != NULL)
    buf_text(out, meaning);
  passage_ending(source, out);
  if (state != NULL)
    buf_format(out, "; %s", state);
  passage_reason(source, out);
  buf_text(out, "]");
}

static void append_marker(const struct characters_cut *cut, const char *uri,
                          struct buf *out) {
  buf_format(out, "[… %zu of %zu characters (%zu of %zu lines) left out",
             cut->dropped, cut->total, cut->dropped_lines, cut->total_lines);
  if (uri != NULL)
    buf_format(out, "; full text: %s", uri);
  buf_text(out, " …]");
}

/* How many characters the marker takes at most: its numbers are no larger than
 * the whole text's, and two line ends set it apart. */
static size_t marker_room(size_t total, const char *uri) {
  CLEANUP(buf_free) struct buf marker = BUF_INIT(BUF_SMALL);
  struct characters_cut most = {.dropped = total,
                                .total = total,
                                .dropped_lines = total,
                                .total_lines = total};
  append_marker(&most, uri, &marker);
  return utf8_count(buf_string(&marker), marker.length) + 2;
}

static void append_bounded(const char *text, size_t length, size_t limit,
                           const char *uri, struct buf *out) {
  size_t total = utf8_count(text, length);
  if (total <= limit) {
    buf_append(out, text, length);
    return;
  }
  size_t room = marker_room(total, uri);
  struct characters_cut cut;
  characters_cut(text, length, total, limit > room ? limit - room : 0, &cut);
  buf_append(out, text, cut.head_end);
  if (cut.head_end > 0)
    passage_end_line(out);
  append_marker(&cut, uri, out);
  if (cut.tail_start < length)
    buf_byte(out, '\n');
  buf_append(out, text + cut.tail_start, length - cut.tail_start);
}

static int compose(const struct text_source *source, const struct buf *body,
                   size_t limit, struct buf *out) {
  CLEANUP(buf_free) struct buf last = BUF_INIT(BUF_SMALL);
  compose_last_line(source, &last);
  size_t taken = utf8_count(buf_string(&last), last.length);
  taken += taken > 0; /* its line end in front */
  append_bounded(buf_string(body), body->length,
                 limit > taken ? limit - taken : 0, source->full_text_uri, out);
  if (last.length > 0)
    passage_end_line(out);
  buf_append(out, buf_string(&last), last.length);
  return body->overflowed || out->overflowed ? -1 : 0;
}

int text_compose(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf folded = BUF_INIT(BUF_ANSWER);
  compose_body(source, &body);
  passage_fold(buf_string(&body), body.length, &folded);
  return compose(source, &folded, source->limit, out);
}

int text_compose_full(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  compose_body(source, &body);
  return compose(source, &body, SIZE_MAX, out);
}
