/* Which frames of a chain are in the cell that was run now, and at which line
 * of it as the user wrote it.
 *
 * What IPython compiles is not what the user sent: it drops blank lines at the
 * top, and the body of a %% magic is compiled without the first line. So each
 * line is matched against the user's code. */
#include "core/report/traceback/chain.h"

#include <string.h>

#include "core/base/mem.h"

struct cell {
  const struct code *code;
  int64_t execution_count;
  const struct frame *anchor;
  int64_t leading; /* blank lines at the top */
  bool is_magic;   /* the first line behind them starts with %% */
};

/* Blank lines in front of the code. */
static int64_t leading_lines(const struct code *code) {
  int64_t count = 0;
  while (code_is_blank(code, count + 1))
    count++;
  return count < (int64_t)code->count ? count : 0;
}

static bool is_magic_line(const struct code *code, int64_t number) {
  size_t length;
  const char *line = code_line(code, number, &length);
  return line != NULL && length > 2 && memcmp(line, "%%", 2) == 0;
}

/* IPython rewrites such lines before it compiles them: magics, shell commands,
 * help. */
static bool is_rewritten(const struct code *code, int64_t number,
                         const char *text) {
  size_t length;
  const char *line = code_line(code, number, &length);
  return line != NULL && strstr(text, "get_ipython()") != NULL &&
         (memchr(line, '%', length) || memchr(line, '!', length) ||
          memchr(line, '?', length));
}

/* The user's line for a compiled line, 0 when the code says something else
 * there. */
static int64_t line_of_user(const struct cell *cell,
                            const struct frame *frame) {
  const char *text = frame->text ? frame->text : "";
  bool is_call = strstr(text, ".run_cell_magic(") != NULL;
  int64_t magic =
      (cell->is_magic && !is_call) || frame->kind == FRAME_MAGIC ? 1 : 0;
  int64_t shifts[] = {cell->leading + magic, cell->leading, 0};
  for (size_t i = 0; i < COUNT_OF(shifts); i++) {
    int64_t number = frame->line + shifts[i];
    if (number <= (int64_t)cell->code->count &&
        (text[0] == '\0' || code_says(cell->code, number, text) ||
         is_rewritten(cell->code, number, text)))
      return number;
  }
  return 0;
}

/* IPython 8.0 to 8.4 show some frames without a line: the only line of the code
 * that reads so. */
static int64_t line_by_text(const struct code *code, const char *text) {
  int64_t found = 0;
  for (int64_t number = 1; number <= (int64_t)code->count; number++) {
    if (!code_says(code, number, text))
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
static bool is_in_cell(const struct cell *cell, const struct frame *frame) {
  const struct frame *anchor = cell->anchor;
  if (frame->kind == FRAME_MAGIC)
    return true;
  if (frame->cell > 0 && cell->execution_count > 0)
    return frame->cell >= cell->execution_count;
  if (frame->cell > 0 && anchor != NULL && anchor->cell > 0)
    return frame->cell == anchor->cell;
  return frame->file && anchor && anchor->file &&
         strcmp(frame->file, anchor->file) == 0;
}

static void settle_frame(const struct cell *cell, struct frame *frame) {
  if (!frame_in_cell(frame) || !is_in_cell(cell, frame))
    return;
  frame->mine = true;
  if (cell->execution_count > 0)
    frame->cell = cell->execution_count;
  /* "%time f()" is evaluated as a line of its own. */
  if (frame->kind == FRAME_MAGIC && strcmp(frame->file, "<timed eval>") == 0) {
    frame->line = code_only_line_with(cell->code, "%time");
    return;
  }
  int64_t line = frame->line > 0 ? line_of_user(cell, frame)
                 : frame->text   ? line_by_text(cell->code, frame->text)
                                 : 0;
  if (line == 0)
    return;
  frame->line = line;
  frame_drop_lines(frame);
}

void chain_settle(struct chain *chain, const struct code *code,
                  int64_t execution_count) {
  int64_t leading = leading_lines(code);
  struct cell cell = {code, execution_count, anchor_of(chain), leading,
                      is_magic_line(code, leading + 1)};
  for (size_t i = 0; i < chain->count; i++)
    for (size_t k = 0; k < chain->links[i].count; k++)
      settle_frame(&cell, &chain->links[i].frames[k]);
}
