/* Which frames of a chain are in the cell that was run now, and at which
 * line of it as the user wrote it.
 *
 * What IPython compiles is not what the user sent: it drops blank lines at the
 * top, and the body of a %% magic is compiled without the first line. So each
 * line is matched against the user's code. */
#include "core/report/traceback/frames.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/text/ansi.h"

static bool is_blank(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (!strchr(" \t\f\v\r", text[i]) || text[i] == '\0')
      return false;
  return true;
}

/* Blank lines in front of the code. */
static int64_t leading_lines(const struct traceback_source *source) {
  int64_t count = 0;
  size_t length;
  const char *line;
  while ((line = code_line(source->code, source->code_length, count + 1,
                           &length)) != NULL &&
         is_blank(line, length))
    count++;
  return line != NULL ? count : 0;
}

static bool is_magic_cell(const struct traceback_source *source,
                          int64_t leading) {
  size_t length;
  const char *line =
      code_line(source->code, source->code_length, leading + 1, &length);
  return line != NULL && length > 2 && memcmp(line, "%%", 2) == 0;
}

static void trim(const char **text, size_t *length) {
  while (*length > 0 && strchr(" \t\r", (*text)[*length - 1]))
    --*length;
  while (*length > 0 && (**text == ' ' || **text == '\t')) {
    ++*text;
    --*length;
  }
}

static bool says_the_same(const struct traceback_source *source, int64_t number,
                          const char *text) {
  size_t length, text_length = strlen(text);
  const char *line =
      code_line(source->code, source->code_length, number, &length);
  if (line == NULL)
    return false;
  trim(&line, &length);
  trim(&text, &text_length);
  return length == text_length && memcmp(line, text, length) == 0;
}

/* Lines that IPython rewrites before it compiles them: magics, shell commands,
 * help. */
static bool is_rewritten(const struct traceback_source *source, int64_t number,
                         const char *text) {
  size_t length;
  const char *line =
      code_line(source->code, source->code_length, number, &length);
  return line != NULL && length > 0 && strstr(text, "get_ipython()") != NULL &&
         (memchr(line, '%', length) || memchr(line, '!', length) ||
          memchr(line, '?', length));
}

/* The user's line for a compiled line, 0 when the code says something else
 * there. */
static int64_t line_of_user(const struct traceback_source *source,
                            const struct frame *frame) {
  int64_t leading = leading_lines(source);
  int64_t magic = is_magic_cell(source, leading) ? 1 : 0;
  size_t length;
  if (frame->kind == FRAME_MAGIC)
    magic = 1;
  bool is_call = frame->text && strstr(frame->text, ".run_cell_magic(") != NULL;
  int64_t shifts[] = {leading + (is_call ? 0 : magic), leading, 0};
  for (size_t i = 0; i < COUNT_OF(shifts); i++) {
    int64_t number = frame->line + shifts[i];
    if (!code_line(source->code, source->code_length, number, &length))
      continue;
    if (frame->text == NULL || frame->text[0] == '\0' ||
        says_the_same(source, number, frame->text) ||
        is_rewritten(source, number, frame->text))
      return number;
  }
  return 0;
}

/* IPython 8.0 to 8.4 show some frames without a line: the only line of the code
 * that reads so. */
static int64_t line_by_text(const struct traceback_source *source,
                            const char *text) {
  int64_t found = 0;
  size_t length;
  for (int64_t number = 1;
       code_line(source->code, source->code_length, number, &length) != NULL;
       number++) {
    if (!says_the_same(source, number, text))
      continue;
    if (found > 0)
      return 0;
    found = number;
  }
  return found;
}

/* "%time f()" is evaluated as a line of its own: the only such line it is. */
static int64_t line_of_timed(const struct traceback_source *source) {
  int64_t found = 0;
  size_t length;
  const char *line;
  for (int64_t number = 1;
       (line = code_line(source->code, source->code_length, number, &length));
       number++) {
    if (memmem(line, length, "%time", 5) == NULL)
      continue;
    if (found > 0)
      return 0;
    found = number;
  }
  return found;
}

/* The frame that stands for the cell that was run: its number, or its file
 * where cells are files, tells which other frames are in the same cell. */
static const struct frame *anchor_of(const struct chain *chain) {
  for (size_t i = chain->count; i-- > 0;)
    for (size_t k = 0; k < chain->links[i].count; k++)
      if (chain->links[i].frames[k].kind == FRAME_CELL)
        return &chain->links[i].frames[k];
  return NULL;
}

/* A number beyond that of the run is the run itself: %%capture counts on. */
static bool is_in_same_cell(const struct frame *frame,
                            const struct frame *anchor, int64_t count) {
  if (frame->kind == FRAME_MAGIC)
    return true;
  if (frame->cell > 0 && count > 0)
    return frame->cell >= count;
  if (frame->cell > 0 && anchor != NULL && anchor->cell > 0)
    return frame->cell == anchor->cell;
  return frame->file && anchor && anchor->file &&
         strcmp(frame->file, anchor->file) == 0;
}

static void settle_frame(struct frame *frame, const struct frame *anchor,
                         const struct traceback_source *source) {
  if (!is_in_same_cell(frame, anchor, source->execution_count))
    return;
  frame->mine = true;
  if (source->execution_count > 0)
    frame->cell = source->execution_count;
  if (frame->kind == FRAME_MAGIC && strcmp(frame->file, "<timed eval>") == 0) {
    frame->line = line_of_timed(source);
    return;
  }
  int64_t line = frame->line > 0 ? line_of_user(source, frame)
                 : frame->text   ? line_by_text(source, frame->text)
                                 : 0;
  if (line == 0)
    return;
  frame->line = line;
  frame_drop_lines(frame);
}

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
static void correct_link(struct link *link, const struct json *seen) {
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

static bool has_cell(const struct link *link) {
  for (size_t i = 0; i < link->count; i++)
    if (frame_in_cell(&link->frames[i]) && link->frames[i].line > 0)
      return true;
  return false;
}

/* The frames of a link that came without any: xmode Minimal, SystemExit, and
 * groups, which IPython 8.15 and newer print to stderr. */
static void add_seen_frames(struct link *link, const struct json *seen) {
  const struct json *frames = json_get(seen, "frames");
  for (size_t i = 0; i < json_length(frames); i++) {
    const struct json *other = json_at(frames, i);
    const char *function = json_get_text(other, "function");
    struct frame *frame = link_add_frame(link);
    frame->kind = FRAME_CELL;
    frame->cell = json_get_integer(other, "cell", 0);
    frame->line = json_get_integer(other, "line", 0);
    if (function != NULL && strcmp(function, "<module>") != 0)
      frame->function = plain_copy(function);
    take_source(frame, other);
  }
}

/* The probe's chain starts with the exception itself. */
static void apply_probe(struct chain *chain, const struct json *seen_chain) {
  size_t known = json_length(seen_chain);
  if (chain->count == 0) {
    for (size_t i = known; i-- > 0;) {
      struct link *link = chain_add(chain);
      link->message = plain_copy(json_get_text(json_at(seen_chain, i), "text"));
      link->reason = i > 0 ? LINK_CONTEXT : LINK_LAST;
    }
  }
  for (size_t i = 0; i < known && i < chain->count; i++) {
    struct link *link = &chain->links[chain->count - 1 - i];
    const struct json *seen = json_at(seen_chain, i);
    if (has_cell(link))
      correct_link(link, seen);
    else if (link->count == 0)
      add_seen_frames(link, seen);
  }
}

/* The interpreter may still keep an older exception than this one. */
static const struct json *chain_seen(const struct traceback_source *source) {
  const char *class = json_get_text(source->probe, "class");
  const char *ename = json_get_text(source->error, "ename");
  if (class == NULL || ename == NULL || strcmp(class, ename) != 0)
    return NULL;
  return json_get(source->probe, "chain");
}

void chain_settle(struct chain *chain, const struct traceback_source *source) {
  apply_probe(chain, chain_seen(source));
  const struct frame *anchor = anchor_of(chain);
  for (size_t i = 0; i < chain->count; i++)
    for (size_t k = 0; k < chain->links[i].count; k++)
      if (frame_in_cell(&chain->links[i].frames[k]))
        settle_frame(&chain->links[i].frames[k], anchor, source);
}
