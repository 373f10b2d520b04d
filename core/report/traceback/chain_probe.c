/* What was seen in the kernel (probe.py) corrects what the traceback says.
 *
 * IPython 9 shows for some frames the line that was reached last (in a finally
 * or except block) instead of the one that raised, and no frames at all for
 * SystemExit, exception groups and xmode Minimal. */
#include "core/report/traceback/chain.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/text/ansi.h"

static const char *last_part(const char *function) {
  const char *dot = function ? strrchr(function, '.') : NULL;
  return dot ? dot + 1 : function;
}

static bool is_same_function(const struct frame *frame,
                             const struct json *seen) {
  const char *name = json_get_text(seen, "function");
  bool top = name == NULL || name[0] == '<';
  if (frame->function == NULL)
    return top;
  return name != NULL && strcmp(last_part(frame->function), name) == 0;
}

/* A text of the probe without terminal control; NULL gives NULL. */
static char *plain_copy(const char *text) {
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_SMALL);
  if (text == NULL || ansi_strip(text, strlen(text), &plain) < 0)
    return NULL;
  return buf_take(&plain);
}

static void take_source(struct frame *frame, const struct json *seen) {
  const struct json *source = json_get(seen, "source");
  const struct json *lines = json_at(source, 1);
  int64_t first = json_as_integer(json_at(source, 0), 0);
  frame_drop_lines(frame);
  free(frame->text);
  frame->text = NULL;
  for (size_t i = 0; i < json_length(lines); i++) {
    CLEANUP(mem_free_pointer)
    char *text = plain_copy(json_text(json_at(lines, i)));
    if (text == NULL)
      continue;
    frame_add_line(frame, first + (int64_t)i, text, strlen(text));
    if (first + (int64_t)i == frame->line)
      frame->text = mem_copy_text(text);
  }
}

/* Frames are compared from the deepest one up. IPython 9 shows the line that a
 * frame reached last (in its finally or except block); the probe knows the line
 * that raised. */
static void correct_link(struct chain_link *link, const struct json *seen) {
  const struct json *frames = json_get(seen, "frames");
  size_t left = json_length(frames);
  for (size_t i = link->count; i-- > 0 && left > 0;) {
    struct frame *frame = &link->frames[i];
    if (frame->kind == FRAME_SKIPPED)
      return;
    if (frame->kind != FRAME_CELL)
      continue;
    const struct json *other = json_at(frames, --left);
    int64_t line = json_get_integer(other, "line", 0);
    if (!is_same_function(frame, other))
      return;
    if (line <= 0 || line == frame->line)
      continue;
    frame->line = line;
    take_source(frame, other);
  }
}

static bool has_cell(const struct chain_link *link) {
  for (size_t i = 0; i < link->count; i++)
    if (frame_in_cell(&link->frames[i]) && link->frames[i].line > 0)
      return true;
  return false;
}

/* The frames of a link that came without any: xmode Minimal, SystemExit, and
 * groups, which IPython 8.15 and newer print to stderr. */
static void add_seen_frames(struct chain_link *link, const struct json *seen) {
  const struct json *frames = json_get(seen, "frames");
  for (size_t i = 0; i < json_length(frames); i++) {
    const struct json *other = json_at(frames, i);
    const char *function = json_get_text(other, "function");
    struct frame *frame = chain_add_frame(link);
    frame->kind = FRAME_CELL;
    frame->cell = json_get_integer(other, "cell", 0);
    frame->line = json_get_integer(other, "line", 0);
    if (function != NULL && strcmp(function, "<module>") != 0)
      frame->function = plain_copy(function);
    take_source(frame, other);
  }
}

/* The probe's chain starts with the exception itself. */
void chain_apply_probe(struct chain *chain, const struct json *seen_chain) {
  size_t known = json_length(seen_chain);
  for (size_t i = chain->count == 0 ? known : 0; i-- > 0;) {
    struct chain_link *link = chain_add(chain);
    link->message = plain_copy(json_get_text(json_at(seen_chain, i), "text"));
    link->reason = i > 0 ? CHAIN_CONTEXT : CHAIN_LAST;
  }
  for (size_t i = 0; i < known && i < chain->count; i++) {
    struct chain_link *link = &chain->links[chain->count - 1 - i];
    const struct json *seen = json_at(seen_chain, i);
    if (has_cell(link))
      correct_link(link, seen);
    else if (link->count == 0)
      add_seen_frames(link, seen);
  }
}
