/* Which frames of a chain are in the cell that was run now, and at which line
 * of it as the user wrote it.
 *
 * What IPython compiles is not what the user sent: it drops blank lines at the
 * top, and the body of a %% magic is compiled without the first line, again
 * without the blank lines at its top. So each line is matched against the
 * user's code, and where the traceback shows no text, the magic's own rule
 * holds. */
#include "core/report/traceback/chain.h"

#include <string.h>

#include "core/text/string.h"

#define MOST_STARTS 16
/* Lines compared in all for frames that came without a number. */
#define MOST_COMPARED 1000000

struct cell {
  const struct code *code;
  int64_t execution_count;
  const struct frame *anchor;
  /* How many lines stand in front of what may have been compiled: nothing, the
   * blank lines at the top, the first magic with them, and so on. */
  int64_t starts[MOST_STARTS];
  size_t start_count;
  size_t compared;
};

static bool is_magic_line(const struct code *code, int64_t number) {
  size_t length;
  const char *line = code_line(code, number, &length);
  return line != NULL && length > 2 && memcmp(line, "%%", 2) == 0;
}

static void find_starts(struct cell *cell) {
  const int64_t count = (int64_t)cell->code->count;
  int64_t start = 0;
  cell->start_count = 1;
  while (cell->start_count + 2 <= MOST_STARTS) {
    int64_t blank = start;
    while (code_is_blank(cell->code, blank + 1))
      blank++;
    if (blank == count)
      return;
    if (blank > start)
      cell->starts[cell->start_count++] = blank;
    if (!is_magic_line(cell->code, blank + 1))
      return;
    start = blank + 1;
    cell->starts[cell->start_count++] = start;
  }
}

/* Whether the cell starts with this magic: "%%time" for "%time". */
static bool is_magic_cell(const struct cell *cell, const char *magic) {
  for (size_t i = 0; i < cell->start_count; i++) {
    size_t length, wanted = strlen(magic);
    const char *line = code_line(cell->code, cell->starts[i] + 1, &length);
    if (line != NULL && length > wanted && line[0] == '%' &&
        memcmp(line + 1, magic, wanted) == 0 &&
        (length == wanted + 1 || line[wanted + 1] == ' '))
      return true;
  }
  return false;
}

/* IPython rewrites such lines before it compiles them: magics, shell commands,
 * help. */
static bool is_rewritten(const struct code *code, int64_t number,
                         const char *text) {
  size_t length;
  const char *line = code_line(code, number, &length);
  if (line == NULL || strstr(text, "get_ipython()") == NULL)
    return false;
  if (strstr(text, ".run_cell_magic(") != NULL)
    return is_magic_line(code, number);
  return memchr(line, '%', length) || memchr(line, '!', length) ||
         memchr(line, '?', length);
}

/* The user's line for a compiled line, 0 when the code says something else
 * there. */
static int64_t line_of_user(const struct cell *cell,
                            const struct frame *frame) {
  const char *text = frame->text ? frame->text : "";
  for (size_t i = cell->start_count; i-- > 0;) {
    int64_t number = frame->line + cell->starts[i];
    if (number <= (int64_t)cell->code->count &&
        (text[0] == '\0' || code_says(cell->code, number, text) ||
         is_rewritten(cell->code, number, text)))
      return number;
  }
  return 0;
}

/* IPython 8.0 to 8.4 show some frames without a line: the only line of the code
 * that reads so. */
static int64_t line_by_text(struct cell *cell, const char *text) {
  int64_t found = 0;
  for (int64_t number = 1; number <= (int64_t)cell->code->count; number++) {
    if (cell->compared++ > MOST_COMPARED)
      return 0;
    if (!code_says(cell->code, number, text))
      continue;
    if (found > 0)
      return 0;
    found = number;
  }
  return found;
}

/* The magic that compiles under this name. */
static const char *magic_of(const char *file) {
  return strcmp(file, "<magic-timeit>") == 0 ? "%timeit"
         : strcmp(file, "<string>") == 0     ? "%prun"
                                             : "%time";
}

/* In a cell of that magic the lines count from its body on; "%time f()" is
 * compiled as a line of its own. */
static int64_t line_of_magic(struct cell *cell, const struct frame *frame) {
  const char *magic = magic_of(frame->file);
  if (is_magic_cell(cell, magic)) {
    int64_t line = frame->line + cell->starts[cell->start_count - 1];
    return frame->line > 0 && line <= (int64_t)cell->code->count ? line : 0;
  }
  if (cell->compared > MOST_COMPARED)
    return 0;
  cell->compared += cell->code->count;
  return code_only_line_with(cell->code, magic);
}

/* %prun gives its text to cProfile, which compiles it as "<string>". */
static bool is_profiled(const struct chain_link *link, size_t index) {
  const struct frame *frame = &link->frames[index];
  return index > 0 && frame->kind == FRAME_FILE && frame->file != NULL &&
         strcmp(frame->file, "<string>") == 0 && frame[-1].file != NULL &&
         (string_ends_with(frame[-1].file, "/cProfile.py") ||
          string_ends_with(frame[-1].file, "/profile.py"));
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

static void settle_frame(struct cell *cell, struct frame *frame) {
  if (!frame_in_cell(frame) || !is_in_cell(cell, frame))
    return;
  frame->mine = true;
  if (cell->execution_count > 0)
    frame->cell = cell->execution_count;
  if (frame->kind == FRAME_MAGIC) {
    frame->line = line_of_magic(cell, frame);
    return;
  }
  int64_t line = frame->line > 0 ? line_of_user(cell, frame)
                 : frame->text   ? line_by_text(cell, frame->text)
                                 : 0;
  if (line == 0)
    return;
  frame->line = line;
  frame_drop_lines(frame);
}

void chain_settle(struct chain *chain, const struct code *code,
                  int64_t execution_count) {
  struct cell cell = {.code = code,
                      .execution_count = execution_count,
                      .anchor = anchor_of(chain)};
  find_starts(&cell);
  for (size_t i = 0; i < chain->count; i++)
    for (size_t k = 0; k < chain->links[i].count; k++) {
      struct chain_link *link = &chain->links[i];
      if (is_profiled(link, k) && line_of_magic(&cell, &link->frames[k]) > 0)
        link->frames[k].kind = FRAME_MAGIC;
      settle_frame(&cell, &link->frames[k]);
    }
}
