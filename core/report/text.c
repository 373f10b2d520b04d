#include "core/report/text.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/passage.h"
#include "core/text/amount.h"
#include "core/text/characters.h"

#define FILES_TOLD 20

static int compose_body(const struct text_source *source, struct buf *out) {
  if (passage_outputs(source, true, out) < 0)
    return -1;
  if (json_length(source->files) == 0)
    return 0;
  if (out->length > 0 && out->data[out->length - 1] != '\n' &&
      buf_byte(out, '\n') < 0)
    return -1;
  return passage_files(source->files, FILES_TOLD, out);
}

static int append_limit(const struct text_source *source, struct buf *out) {
  bool is_timeout = strcmp(source->status, "timeout") == 0;
  int failed = 0;
  if (is_timeout && source->timeout_ms > 0) {
    failed |= buf_text(out, " of ");
    failed |= amount_of_time(source->timeout_ms, out);
  }
  if (source->ended_by != NULL)
    failed |= buf_format(out, ", ended by %s", source->ended_by);
  return failed;
}

/* "[timeout: the code did not end within its time limit of 2 s, ended by
 * SIGINT; variables are kept]"; nothing when the run ended ok and the variables
 * are there. */
static int compose_last_line(const struct text_source *source,
                             struct buf *out) {
  const char *meaning = passage_of_status(source->status);
  const char *state = passage_of_state(source->kernel_state, source->status);
  const char *ename = json_get_text(source->error, "ename");
  bool is_lost =
      source->kernel_state != NULL && strcmp(source->kernel_state, "lost") == 0;
  if (meaning == NULL && !is_lost)
    return 0;
  int failed = buf_format(out, "[%s", source->status);
  if (meaning != NULL)
    failed |= buf_text(out, ": ");
  else
    meaning = "";
  if (strcmp(source->status, "error") == 0 && ename != NULL)
    failed |= characters_append_line(ename, strlen(ename), 200, out);
  else
    failed |= buf_text(out, meaning);
  failed |= append_limit(source, out);
  if (state != NULL)
    failed |= buf_format(out, "; %s", state);
  if (source->kernel_reason != NULL && source->kernel_reason[0] != '\0') {
    failed |= buf_text(out, " (");
    failed |= characters_append_line(source->kernel_reason,
                                     strlen(source->kernel_reason), 200, out);
    failed |= buf_text(out, ")");
  }
  return failed | buf_text(out, "]");
}

static int append_marker(const struct characters_cut *cut, const char *uri,
                         struct buf *out) {
  int failed = buf_format(
      out, "[… %zu of %zu characters (%zu of %zu lines) left out", cut->dropped,
      cut->total, cut->dropped_lines, cut->total_lines);
  if (uri != NULL)
    failed |= buf_format(out, "; full text: %s", uri);
  return failed | buf_text(out, " …]");
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

/* Appends at most `limit` characters of the text; 1 when some were left out. */
static int append_bounded(const char *text, size_t length, size_t limit,
                          const char *uri, struct buf *out) {
  size_t total = utf8_count(text, length);
  if (total <= limit)
    return buf_append(out, text, length);
  size_t room = marker_room(total, uri);
  struct characters_cut cut;
  characters_cut(text, length, total, limit > room ? limit - room : 0, &cut);
  int failed = buf_append(out, text, cut.head_end);
  if (cut.head_end > 0 && text[cut.head_end - 1] != '\n')
    failed |= buf_byte(out, '\n');
  failed |= append_marker(&cut, uri, out);
  if (cut.tail_start < length)
    failed |= buf_byte(out, '\n');
  failed |= buf_append(out, text + cut.tail_start, length - cut.tail_start);
  return failed < 0 ? -1 : 1;
}

static int compose(const struct text_source *source, const struct buf *body,
                   size_t limit, struct buf *out) {
  CLEANUP(buf_free) struct buf last = BUF_INIT(BUF_SMALL);
  if (compose_last_line(source, &last) < 0)
    return -1;
  size_t taken = utf8_count(buf_string(&last), last.length);
  taken += taken > 0; /* its line end in front */
  size_t start = out->length;
  int cut = append_bounded(buf_string(body), body->length,
                           limit > taken ? limit - taken : 0,
                           source->full_text_uri, out);
  if (cut < 0)
    return -1;
  if (last.length > 0 && out->length > start &&
      out->data[out->length - 1] != '\n' && buf_byte(out, '\n') < 0)
    return -1;
  return buf_append(out, buf_string(&last), last.length) < 0 ? -1 : cut;
}

static int compose_folded(const struct text_source *source,
                          const struct buf *body, struct buf *out) {
  CLEANUP(buf_free) struct buf folded = BUF_INIT(BUF_ANSWER);
  if (passage_fold(buf_string(body), body->length, &folded) < 0)
    return -1;
  return compose(source, &folded, source->limit, out);
}

int text_compose(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  if (compose_body(source, &body) < 0)
    return -1;
  return compose_folded(source, &body, out) < 0 ? -1 : 0;
}

int text_compose_full(const struct text_source *source, struct buf *out) {
  CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf bounded = BUF_INIT(BUF_ANSWER);
  if (compose_body(source, &body) < 0 ||
      compose(source, &body, SIZE_MAX, out) < 0)
    return -1;
  return compose_folded(source, &body, &bounded);
}
