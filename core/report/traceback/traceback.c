#include "core/report/traceback/traceback.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/report/traceback/chain.h"
#include "core/report/traceback/irkernel.h"
#include "core/text/ansi.h"
#include "core/text/characters.h"

#define NAME_LIMIT 200
#define MESSAGE_LIMIT 2000
#define TRACEBACK_LIMIT 16000 /* characters */
#define LINES_LIMIT 200
#define LINE_LIMIT 1000
#define CAUSES_LIMIT 10
#define CALL_LIMIT 80 /* characters of a function's name */
#define CALLS_LIMIT 5

static bool is_python(const struct traceback_source *source) {
  return source->language != NULL &&
         strcasecmp(source->language, "python") == 0;
}

/* Kernels of shells name no class and tell the exit status as the message. */
static void spell_status(const struct traceback_source *source,
                         const struct buf *ename, struct buf *evalue) {
  static const char *const shells[] = {"bash", "sh", "zsh", "fish"};
  const char *status = buf_string(evalue);
  if (ename->length > 0 || *status == '\0' ||
      status[strspn(status, "0123456789")] != '\0')
    return;
  for (size_t i = 0; i < COUNT_OF(shells); i++)
    if (source->language != NULL && strcmp(source->language, shells[i]) == 0) {
      CLEANUP(mem_free_pointer) char *number = buf_take(evalue);
      buf_format(evalue, "exit status %s", number);
      return;
    }
}

static void trim_end(struct buf *text) {
  while (text->length > 0 && strchr(" \t\n", text->data[text->length - 1]))
    buf_truncate(text, text->length - 1);
}

/* A member of the error without terminal control, cut to `limit`. */
static void take_plain(const struct json *error, const char *key, size_t limit,
                       struct buf *out) {
  const struct json *value = json_get(error, key);
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_KERNEL_MESSAGE);
  if (json_text(value) == NULL)
    return;
  ansi_strip(json_text(value), json_text_length(value), &plain);
  trim_end(&plain);
  characters_append(buf_string(&plain), plain.length, limit, out);
}

/* SyntaxErrors end in the name of the file that a cell is compiled from, with
 * the compiled line: "invalid syntax (89836390.py, line 2)". For a cell, both
 * are told better elsewhere. */
static void drop_file(struct buf *message) {
  char *open =
      message->length ? memrchr(message->data, '(', message->length) : NULL;
  if (open == NULL || open == message->data || open[-1] != ' ')
    return;
  if (strstr(open, ", line ") != NULL &&
      message->data[message->length - 1] == ')')
    buf_truncate(message, (size_t)(open - message->data) - 1);
}

/* The line in "(89836390.py, line 2)", for formats that have it nowhere else.
 */
static int64_t line_in_message(const struct json *error) {
  const char *message = json_get_text(error, "evalue");
  const char *place = message ? strrchr(message, '(') : NULL;
  const char *line = place ? strstr(place, ", line ") : NULL;
  return line ? strtol(line + strlen(", line "), NULL, 10) : 0;
}

static bool is_syntax_error(const char *ename) {
  return strcmp(ename, "SyntaxError") == 0 ||
         strcmp(ename, "IndentationError") == 0 ||
         strcmp(ename, "TabError") == 0;
}

/* Mends the place of a SyntaxError where IPython tells it in part: 8.0 leaves
 * the line number to the message, 9 calls the cell "<string>" for a TabError.
 * True when the fault is in the cell itself. */
static bool mend_syntax_frame(struct chain *chain, const struct json *error) {
  struct chain_link *last = chain_last(chain);
  struct frame *frame =
      last && last->count ? &last->frames[last->count - 1] : NULL;
  if (frame == NULL)
    return false;
  if (frame->kind == FRAME_CELL && frame->line == 0)
    frame->line = line_in_message(error);
  if (last->count == 1 && frame->kind == FRAME_FILE && frame->caret > 0 &&
      strcmp(frame->file, "<string>") == 0)
    frame->kind = FRAME_CELL;
  return frame->kind == FRAME_CELL;
}

static int64_t called_line(const struct chain_link *link,
                           const struct frame *frame) {
  if (frame->mine)
    return 0;
  while (frame-- > link->frames)
    if (frame->mine && frame->line > 0)
      return frame->line;
  return 0;
}

static void set_function(struct json *place, const struct frame *frame) {
  CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
  if (frame->function == NULL || frame->kind == FRAME_MAGIC)
    return;
  characters_append_line(frame->function, strlen(frame->function), CALL_LIMIT,
                         &name);
  json_set(place, "function", json_string_n(buf_string(&name), name.length));
}

static void set_cell(struct json *place, const struct frame *frame) {
  if (!frame->mine)
    json_set(place, "cell", frame->cell > 0 ? json_integer(frame->cell) : NULL);
}

static bool is_same_line(const struct frame *a, const struct frame *b) {
  return a->line == b->line && a->cell == b->cell && a->mine == b->mine;
}

/* The calls in cells that led to a frame, the nearest first; rounds of a
 * recursion count once. Of many, the nearest and the outermost. */
static struct json *list_calls(const struct chain_link *link,
                               const struct frame *frame) {
  struct json *calls = json_array();
  for (const struct frame *call = frame; call-- > link->frames;) {
    if (!frame_in_cell(call) || call->line <= 0 || is_same_line(call, frame))
      continue;
    frame = call;
    struct json *place = json_object();
    json_set_integer(place, "line", call->line);
    set_function(place, call);
    set_cell(place, call);
    if (json_length(calls) == CALLS_LIMIT)
      json_replace_at(calls, CALLS_LIMIT - 1, place);
    else
      json_push(calls, place);
  }
  return calls;
}

static void set_source(struct json *report, const struct frame *frame,
                       const struct code *code) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  frame_write_source(frame, code, 0, &text);
  trim_end(&text);
  json_set_integer(report, "line", frame->line);
  if (text.length > 0)
    json_set(report, "source", json_string_n(text.data, text.length));
}

static void set_place(struct json *report, const struct chain *chain,
                      const struct code *code) {
  const struct chain_link *link;
  const struct frame *frame = chain_deepest(chain, &link);
  if (frame == NULL)
    return;
  set_source(report, frame, code);
  int64_t column = frame_column(frame, code);
  if (column > 0)
    json_set_integer(report, "column", column);
  set_function(report, frame);
  set_cell(report, frame);
  int64_t called = called_line(link, frame);
  if (called > 0)
    json_set_integer(report, "called_line", called);
  json_set(report, "calls", list_calls(link, frame));
}

static void set_line(struct json *report, const struct code *code,
                     int64_t line) {
  const struct frame frame = {.kind = FRAME_CELL, .mine = true, .line = line};
  if (line > 0)
    set_source(report, &frame, code);
}

void traceback_set_place(struct json *report, const char *text, size_t length,
                         int64_t line) {
  CLEANUP(code_free) struct code code;
  code_init(&code, text, length);
  set_line(report, &code, line);
}

static void set_place_of_r(struct json *report, const struct json *error,
                           const struct code *code) {
  int64_t line, column;
  if (!irkernel_place(error, code, &line, &column))
    return;
  set_line(report, code, line);
  if (column > 0)
    json_set_integer(report, "column", column);
}

static struct json *list_causes(const struct chain *chain) {
  struct json *causes = json_array();
  for (size_t i = chain->count;
       i-- > 1 && json_length(causes) < CAUSES_LIMIT;) {
    CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
    chain_write_name(&chain->links[i - 1], &name);
    json_push(causes, json_string_n(buf_string(&name), name.length));
  }
  return causes;
}

/* Pushes the lines of a text, each cut to LINE_LIMIT. */
static void push_lines(struct json *lines, const char *text, size_t length) {
  const char *end = text + length;
  while (text < end) {
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    const char *stop = line_end ? line_end : end;
    CLEANUP(buf_free) struct buf line = BUF_INIT(BUF_SMALL);
    characters_append_line(text, (size_t)(stop - text), LINE_LIMIT, &line);
    json_push(lines, json_string_n(buf_string(&line), line.length));
    text = line_end ? line_end + 1 : end;
  }
}

/* Head and tail of too many lines. */
static void cap_lines(struct json *lines) {
  size_t count = json_length(lines);
  if (count <= LINES_LIMIT)
    return;
  size_t head = LINES_LIMIT / 4, dropped = count - LINES_LIMIT + 1;
  CLEANUP(buf_free) struct buf marker = BUF_INIT(BUF_LINE);
  buf_format(&marker, "[… %zu lines left out …]", dropped);
  json_remove_at(lines, head, dropped - 1);
  json_replace_at(lines, head, json_string(buf_string(&marker)));
}

static struct json *lines_of(const struct buf *text) {
  struct json *lines = json_array();
  CLEANUP(buf_free) struct buf capped = BUF_INIT(BUF_SMALL);
  characters_append(buf_string(text), text->length, TRACEBACK_LIMIT, &capped);
  push_lines(lines, buf_string(&capped), capped.length);
  cap_lines(lines);
  return lines;
}

/* What another kernel sent, or IPython without any frame: as it is. */
static void write_as_sent(const struct json *error, const char *heading,
                          struct buf *out) {
  const struct json *traceback = json_get(error, "traceback");
  for (size_t i = 0; i < json_length(traceback); i++) {
    const struct json *element = json_at(traceback, i);
    if (json_text(element) == NULL)
      continue;
    ansi_strip(json_text(element), json_text_length(element), out);
    trim_end(out);
    buf_byte(out, '\n');
  }
  if (out->length < 2) {
    buf_reset(out);
    buf_text(out, heading);
  }
}

static struct json *write_traceback(const struct chain *chain,
                                    const struct code *code,
                                    const struct traceback_source *source,
                                    const char *heading) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_KERNEL_MESSAGE);
  if (source->style == TRACEBACK_MINIMAL)
    buf_text(&text, heading);
  else if (is_python(source))
    chain_write(chain, code, source->style == TRACEBACK_CONTEXT, heading,
                &text);
  else
    write_as_sent(source->error, heading, &text);
  trim_end(&text);
  return lines_of(&text);
}

/* What the probe saw; NULL when that was an older exception than this one,
 * which the interpreter may still keep. */
static const struct json *chain_seen(const struct traceback_source *source) {
  const char *class = json_get_text(source->probe, "class");
  const char *ename = json_get_text(source->error, "ename");
  if (class == NULL || ename == NULL || strcmp(class, ename) != 0)
    return NULL;
  return json_get(source->probe, "chain");
}

/* ename, evalue and the heading made of both; the chain of a Python error. */
static struct json *start_report(const struct traceback_source *source,
                                 const struct code *code, struct chain *chain,
                                 struct buf *heading) {
  CLEANUP(buf_free) struct buf ename = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf evalue = BUF_INIT(BUF_SMALL);
  struct json *report = json_object();
  take_plain(source->error, "ename", NAME_LIMIT, &ename);
  take_plain(source->error, "evalue", MESSAGE_LIMIT, &evalue);
  spell_status(source, &ename, &evalue);
  if (is_python(source)) {
    chain_read_python(json_get(source->error, "traceback"), chain);
    if (is_syntax_error(buf_string(&ename)) &&
        mend_syntax_frame(chain, source->error))
      drop_file(&evalue);
    chain_apply_probe(chain, chain_seen(source));
    chain_settle(chain, code, source->execution_count);
  }
  buf_format(heading, evalue.length && ename.length ? "%s: %s" : "%s%s",
             buf_string(&ename), buf_string(&evalue));
  json_set(report, "ename", json_string_n(buf_string(&ename), ename.length));
  json_set(report, "evalue", json_string_n(buf_string(&evalue), evalue.length));
  return report;
}

struct json *traceback_report(const struct traceback_source *source) {
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_KERNEL_MESSAGE);
  if (source->code != NULL)
    ansi_strip(source->code, source->code_length, &plain);
  CLEANUP(code_free) struct code code;
  code_init(&code, buf_string(&plain), plain.length);
  CLEANUP(chain_free) struct chain chain = {0};
  CLEANUP(buf_free) struct buf heading = BUF_INIT(BUF_SMALL);
  struct json *report = start_report(source, &code, &chain, &heading);
  json_set(report, "traceback",
           write_traceback(&chain, &code, source, buf_string(&heading)));
  json_set(report, "line", NULL);
  json_set(report, "source", NULL);
  if (is_python(source))
    set_place(report, &chain, &code);
  else
    set_place_of_r(report, source->error, &code);
  json_set(report, "causes", list_causes(&chain));
  json_set_text(report, "hint", source->hint);
  return report;
}
