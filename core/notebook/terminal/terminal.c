#include "core/notebook/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/terminal/terminal_line.h"
#include "core/notebook/terminal/terminal_store.h"
#include "core/text/ansi.h"

/* As many lines as a screen has can be written to again (nested progress bars
 * move the cursor up); what scrolls off is final. A line longer than LONG_LINE
 * bytes, or LONG_CELLS cells, becomes final piece by piece, as a terminal's
 * wrapped rows do. */
enum {
  SCREEN_LINES = 24,
  LONG_LINE = 64 << 10,
  LONG_CELLS = 16 << 10,
  MOST_COLUMNS = 4096,
};

struct terminal {
  struct terminal_store store; /* final text */
  size_t tail_limit;
  struct terminal_line lines[SCREEN_LINES]; /* a ring */
  size_t sizes[SCREEN_LINES]; /* of lines in cells, as they look; 0: unknown */
  size_t first, count;
  size_t row;    /* of the cursor, from `first` */
  size_t column; /* of the cursor, unless at_end */
  bool at_end;   /* behind the last byte of a line of plain bytes */
  struct terminal_style pen;
  size_t screen_size; /* bytes of the lines as they look */
  struct buf pending; /* the start of an escape sequence */
};

static struct terminal_line *line_at(const struct terminal *terminal,
                                     size_t row) {
  size_t index = (terminal->first + row) % SCREEN_LINES;
  return (struct terminal_line *)&terminal->lines[index];
}

static struct terminal_line *current(const struct terminal *terminal) {
  return line_at(terminal, terminal->row);
}

/* The cursor's line, which is about to change. */
static struct terminal_line *edit(struct terminal *terminal) {
  terminal->sizes[(terminal->first + terminal->row) % SCREEN_LINES] = 0;
  return current(terminal);
}

struct terminal *terminal_new(size_t head_bytes, size_t tail_bytes) {
  struct terminal *terminal = mem_new(sizeof *terminal);
  terminal_store_init(&terminal->store, head_bytes, tail_bytes);
  terminal->tail_limit = tail_bytes;
  for (size_t i = 0; i < SCREEN_LINES; i++)
    terminal_line_init(&terminal->lines[i], &terminal->pen);
  terminal->count = 1;
  terminal->at_end = true;
  terminal->pending = (struct buf)BUF_INIT(BUF_LINE);
  return terminal;
}

void terminal_free(struct terminal *terminal) {
  if (terminal == NULL)
    return;
  terminal_store_free(&terminal->store);
  for (size_t i = 0; i < SCREEN_LINES; i++)
    terminal_line_free(&terminal->lines[i]);
  buf_free(&terminal->pending);
  free(terminal);
}

/* The style in force behind a line: where the next one begins. */
static const struct terminal_style *end_style(const struct terminal *terminal,
                                              size_t row) {
  return row + 1 < terminal->count ? &line_at(terminal, row + 1)->start
                                   : &terminal->pen;
}

static void write_row(const struct terminal *terminal, size_t row,
                      struct buf *out) {
  terminal_line_write(line_at(terminal, row), end_style(terminal, row), out);
  if (row + 1 < terminal->count)
    buf_byte(out, '\n');
}

/* Makes the top line final. */
static void scroll(struct terminal *terminal) {
  struct terminal_line *top = line_at(terminal, 0);
  if (!top->in_cells) {
    buf_byte(&top->text, '\n');
    terminal_store_append(&terminal->store, top->text.data, top->text.length);
  } else {
    CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX / 4);
    write_row(terminal, 0, &text);
    terminal_store_append(&terminal->store, text.data, text.length);
  }
  terminal_line_reset(top, &terminal->pen);
  terminal->first = (terminal->first + 1) % SCREEN_LINES;
  terminal->count--;
  terminal->row = terminal->row == 0 ? 0 : terminal->row - 1;
}

/* Makes all that is on the screen final; the cursor's line goes on empty. */
static void flush_screen(struct terminal *terminal) {
  while (terminal->count > 1)
    scroll(terminal);
  CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX / 4);
  write_row(terminal, 0, &text);
  if (text.length > 0)
    terminal_store_append(&terminal->store, text.data, text.length);
  terminal_line_reset(edit(terminal), &terminal->pen);
  terminal->column = 0;
  terminal->at_end = true;
}

/* Gives the cursor a column, so that it can move or write over what is there.
 */
static void need_cells(struct terminal *terminal) {
  struct terminal_line *line = edit(terminal);
  terminal_line_to_cells(line);
  if (terminal->at_end)
    terminal->column = line->count;
  terminal->at_end = false;
}

static void put_text(struct terminal *terminal, const char *text,
                     size_t length) {
  struct terminal_line *line = edit(terminal);
  if (terminal->at_end) {
    buf_append(&line->text, text, length);
  } else {
    need_cells(terminal);
    terminal->column =
        terminal_line_put(line, terminal->column, &terminal->pen, text, length);
  }
  if (line->text.length > LONG_LINE || line->count > LONG_CELLS)
    flush_screen(terminal);
}

static void move_to_row(struct terminal *terminal, size_t row) {
  need_cells(terminal);
  terminal->row = row;
  terminal_line_to_cells(edit(terminal));
}

static void carriage_return(struct terminal *terminal) {
  struct terminal_line *line = current(terminal);
  terminal->column = 0;
  terminal->at_end = !line->in_cells && line->text.length == 0;
}

static void line_feed(struct terminal *terminal) {
  edit(terminal); /* what is in force behind it may change */
  if (terminal->row + 1 < terminal->count) {
    move_to_row(terminal, terminal->row + 1);
    terminal->column = 0;
    return;
  }
  if (terminal->count == SCREEN_LINES)
    scroll(terminal);
  terminal->count++;
  terminal->row = terminal->count - 1;
  terminal_line_reset(edit(terminal), &terminal->pen);
  terminal->column = 0;
  terminal->at_end = true;
}

static void back_space(struct terminal *terminal) {
  need_cells(terminal);
  if (terminal->column > 0)
    terminal->column--;
}

static void erase_in_line(struct terminal *terminal, size_t mode) {
  if (terminal->at_end && mode == 0)
    return;
  need_cells(terminal);
  size_t from = mode == 0 ? terminal->column : 0;
  size_t to = mode == 1 ? terminal->column + 1 : SIZE_MAX;
  terminal_line_erase(current(terminal), from, to);
}

static void colour(struct terminal *terminal,
                   const struct ansi_sequence *sequence, const char *text) {
  if (!terminal->at_end)
    need_cells(terminal);
  else
    buf_append(&current(terminal)->text, text, sequence->length);
  terminal_style_apply(&terminal->pen, sequence->parameters,
                       sequence->parameters_length);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void move_cursor(struct terminal *terminal, char direction,
                        size_t steps) {
  size_t row = terminal->row, bottom = terminal->count - 1;
  need_cells(terminal);
  switch (direction) {
  case 'A':
  case 'F':
    move_to_row(terminal, row - least(row, steps));
    break;
  case 'B':
  case 'E':
    move_to_row(terminal, least(row + steps, bottom));
    break;
  case 'C':
    terminal->column = least(terminal->column + steps, MOST_COLUMNS);
    break;
  case 'D':
    terminal->column -= least(terminal->column, steps);
    break;
  default: /* 'G' */
    terminal->column = least(steps - 1, MOST_COLUMNS);
    break;
  }
  if (direction == 'E' || direction == 'F')
    terminal->column = 0;
}

/* Applies a complete sequence; those that a notebook has no use for vanish, as
 * they do on a terminal. */
static void apply(struct terminal *terminal,
                  const struct ansi_sequence *sequence, const char *text) {
  size_t number = sequence->number;
  switch (sequence->final) {
  case 'm':
    colour(terminal, sequence, text);
    break;
  case 'K':
    erase_in_line(terminal, number);
    break;
  case 'A':
  case 'B':
  case 'C':
  case 'D':
  case 'E':
  case 'F':
  case 'G':
    move_cursor(terminal, sequence->final, number == 0 ? 1 : number);
    break;
  default:
    break;
  }
}

/* Lines that the same write scrolls off the screen need not be put on it.
 * Returns how much of the text became final at once. */
static size_t pass_through(struct terminal *terminal, const char *text,
                           size_t length) {
  if (!terminal->at_end || terminal->row + 1 < terminal->count ||
      length < SCREEN_LINES)
    return 0;
  const char *back = memchr(text, '\r', length);
  length = back == NULL ? length : (size_t)(back - text);
  back = memchr(text, '\b', length);
  length = back == NULL ? length : (size_t)(back - text);
  for (int lines = 0; lines < SCREEN_LINES; lines++) {
    const char *newline = memrchr(text, '\n', length);
    if (newline == NULL)
      return 0;
    length = (size_t)(newline - text);
  }
  flush_screen(terminal);
  terminal_store_append(&terminal->store, text, length + 1);
  return length + 1;
}

/* How many bytes at the start are none of \n, \r, \b and ESC. */
static size_t plain_run(const char *text, size_t length) {
  static const bool special[256] = {
      ['\n'] = true, ['\r'] = true, ['\b'] = true, [0x1b] = true};
  size_t i = 0;
  while (i < length && !special[(unsigned char)text[i]])
    i++;
  return i;
}

static void write_plain(struct terminal *terminal, const char *text,
                        size_t length) {
  const char *end = text + length;
  text += pass_through(terminal, text, length);
  while (text < end) {
    size_t run = plain_run(text, (size_t)(end - text));
    if (run > 0) {
      put_text(terminal, text, run);
      text += run;
      continue;
    }
    if (*text == '\n')
      line_feed(terminal);
    else if (*text == '\r')
      carriage_return(terminal);
    else if (*text == '\b')
      back_space(terminal);
    else
      break;
    text++;
  }
}

/* Takes what stands in front: plain text up to an ESC, or one sequence.
 * Returns 0 when more bytes are needed to tell. */
static size_t take(struct terminal *terminal, const char *text, size_t length) {
  const char *escape_byte = memchr(text, 0x1b, length);
  size_t plain = escape_byte == NULL ? length : (size_t)(escape_byte - text);
  if (plain > 0) {
    write_plain(terminal, text, plain);
    return plain;
  }
  struct ansi_sequence sequence;
  switch (ansi_read(text, length, &sequence)) {
  case ANSI_INCOMPLETE:
    return 0;
  case ANSI_BROKEN:
    put_text(terminal, text, 1);
    return 1;
  default:
    apply(terminal, &sequence, text);
    return sequence.length;
  }
}

/* Completes a sequence that an earlier write began: byte by byte, until it can
 * be told. Returns how many bytes of `text` it used. */
static size_t complete_pending(struct terminal *terminal, const char *text,
                               size_t length) {
  size_t used = 0;
  while (terminal->pending.length > 0 && used < length) {
    buf_byte(&terminal->pending, text[used++]);
    CLEANUP(buf_free) struct buf bytes = terminal->pending;
    terminal->pending = (struct buf)BUF_INIT(BUF_LINE);
    size_t done = 0, step;
    while (done < bytes.length &&
           (step = take(terminal, bytes.data + done, bytes.length - done)) > 0)
      done += step;
    if (done < bytes.length)
      buf_append(&terminal->pending, bytes.data + done, bytes.length - done);
  }
  return used;
}

/* The bytes of a line in cells, as it looks; of the last one the pen decides
 * how it ends. */
static size_t measure_line(struct terminal *terminal, size_t row) {
  size_t *known = &terminal->sizes[(terminal->first + row) % SCREEN_LINES];
  if (*known == 0 || row + 1 == terminal->count) {
    CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX / 4);
    terminal_line_write(line_at(terminal, row), end_style(terminal, row),
                        &text);
    *known = text.length;
  }
  return *known;
}

static size_t measure_screen(struct terminal *terminal) {
  size_t size = terminal->count - 1;
  for (size_t row = 0; row < terminal->count; row++) {
    const struct terminal_line *line = line_at(terminal, row);
    size += line->in_cells ? measure_line(terminal, row) : line->text.length;
  }
  return size;
}

/* Keeps the whole view within the limits: the screen counts to the tail. */
static void settle(struct terminal *terminal) {
  terminal->screen_size = measure_screen(terminal);
  while (terminal->screen_size > terminal->tail_limit && terminal->count > 1) {
    scroll(terminal);
    terminal->screen_size = measure_screen(terminal);
  }
  if (terminal->screen_size > terminal->tail_limit) {
    flush_screen(terminal);
    terminal->screen_size = 0;
  }
  terminal_store_trim(&terminal->store, terminal->screen_size);
}

void terminal_write(struct terminal *terminal, const char *text,
                    size_t length) {
  size_t done = complete_pending(terminal, text, length);
  while (done < length) {
    size_t step = take(terminal, text + done, length - done);
    if (step == 0) {
      buf_append(&terminal->pending, text + done, length - done);
      break;
    }
    done += step;
  }
  settle(terminal);
}

void terminal_shrink(struct terminal *terminal, size_t head_bytes,
                     size_t tail_bytes) {
  terminal_store_shrink(&terminal->store, head_bytes, tail_bytes);
  terminal->tail_limit = tail_bytes;
  settle(terminal);
}

int terminal_render(const struct terminal *terminal, struct buf *out) {
  int result = terminal_store_write(&terminal->store, out);
  for (size_t row = 0; row < terminal->count; row++)
    write_row(terminal, row, out);
  return result < 0 || out->overflowed ? -1 : 0;
}

size_t terminal_size(const struct terminal *terminal) {
  return terminal_store_size(&terminal->store) + terminal->screen_size;
}

uint64_t terminal_dropped_bytes(const struct terminal *terminal) {
  return terminal->store.dropped_bytes;
}

uint64_t terminal_dropped_lines(const struct terminal *terminal) {
  return terminal_store_dropped_lines(&terminal->store);
}
