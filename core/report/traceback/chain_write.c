/* Writes a chain for a model: the exception itself in full, its causes in
 * a line each, library frames folded to their last one, recursion folded. */
#include "core/report/traceback/chain.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/text/characters.h"

#define NAME_LIMIT 200
#define CAUSE_LIMIT 300
#define LONGEST_CYCLE 4
#define LEAST_REPEATS 3
#define FIRST_STEPS 20
#define LAST_FRAMES 40

/* The path behind site-packages/ or the standard library's directory. */
static const char *short_path(const char *file) {
  static const char *const marks[] = {"/site-packages/", "/dist-packages/"};
  for (size_t i = 0; i < COUNT_OF(marks); i++) {
    const char *found = strstr(file, marks[i]);
    if (found != NULL)
      return found + strlen(marks[i]);
  }
  const char *standard = strstr(file, "/lib/python3");
  if (standard == NULL)
    standard = strstr(file, "/lib64/python3");
  const char *slash =
      standard ? strchr(standard + strlen("/lib64/"), '/') : NULL;
  return slash ? slash + 1 : file;
}

/* "pandas" of pandas/core/frame.py, "json" of json/decoder.py, "importlib" of
 * <frozen importlib._bootstrap>. */
static size_t package_of(const struct frame *frame, const char **ret) {
  const char *path = short_path(frame->file);
  if (strncmp(path, "<frozen ", 8) == 0)
    path += 8;
  else if (*path == '<')
    path++;
  *ret = path;
  return strcspn(path, "/.->");
}

static bool is_package(const struct frame *frame, const char *name) {
  const char *package;
  size_t length = package_of(frame, &package);
  return length == strlen(name) && memcmp(package, name, length) == 0;
}

static bool is_same_place(const struct frame *a, const struct frame *b) {
  const char *none = "";
  return a->kind == b->kind && a->line == b->line && a->cell == b->cell &&
         a->kind != FRAME_SKIPPED && a->mine == b->mine &&
         strcmp(a->file ? a->file : none, b->file ? b->file : none) == 0 &&
         strcmp(a->function ? a->function : none,
                b->function ? b->function : none) == 0;
}

static void write_limited(const char *text, struct buf *out) {
  characters_append_line(text, strlen(text), NAME_LIMIT, out);
}

/* "Cell In[2], line 4, in total" | "File helper.py:4, in parse" */
static void write_place(const struct frame *frame, struct buf *out) {
  if (frame_in_cell(frame)) {
    buf_text(out, "Cell");
    if (frame->cell > 0)
      buf_format(out, " In[%lld]", (long long)frame->cell);
    else if (!frame->mine)
      buf_text(out, " (earlier)");
    if (frame->line > 0)
      buf_format(out, ", line %lld", (long long)frame->line);
  } else {
    buf_text(out, "File ");
    write_limited(short_path(frame->file), out);
    if (frame->line > 0)
      buf_format(out, ":%lld", (long long)frame->line);
  }
  if (frame->function != NULL && frame->kind != FRAME_MAGIC) {
    buf_text(out, ", in ");
    write_limited(frame->function, out);
  }
}

struct writer {
  const struct chain_link *link;
  const struct code *code;
  bool with_source;
  struct buf *out;
};

static bool was_written(const struct writer *writer, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (is_same_place(&writer->link->frames[i], &writer->link->frames[index]))
      return true;
  return false;
}

/* Behind the place on the same line. */
static void write_text(const char *text, size_t length, struct buf *out) {
  size_t indent = 0;
  while (indent < length && (text[indent] == ' ' || text[indent] == '\t'))
    indent++;
  buf_text(out, ": ");
  characters_append_line(text + indent, length - indent, NAME_LIMIT, out);
}

/* Code whose line could not be found in the cell is shown as the kernel
 * showed it. */
static void write_frame(struct writer *writer, size_t index) {
  const struct frame *frame = &writer->link->frames[index];
  struct buf *out = writer->out;
  buf_text(out, "  ");
  write_place(frame, out);
  if (writer->with_source) {
    buf_byte(out, '\n');
    if (!was_written(writer, index))
      frame_write_source(frame, writer->code, 4, out);
    return;
  }
  size_t length = frame->text ? strlen(frame->text) : 0;
  const char *text = frame->text;
  if (frame->mine && frame->line > 0 && frame->line_count == 0)
    text = code_line(writer->code, frame->line, &length);
  if (text != NULL && length > 0)
    write_text(text, length, out);
  buf_byte(out, '\n');
}

#define PACKAGES_NAMED 3

/* "pandas, dateutil" of the frames from..to, in order of appearance. */
static void write_packages(struct writer *writer, size_t from, size_t to) {
  struct {
    const char *name;
    size_t length;
  } named[PACKAGES_NAMED];
  size_t count = 0;
  for (size_t i = from; i < to; i++) {
    const char *name;
    size_t length = package_of(&writer->link->frames[i], &name), k = 0;
    while (k < count && (named[k].length != length ||
                         memcmp(named[k].name, name, length) != 0))
      k++;
    if (k < count)
      continue;
    if (count == PACKAGES_NAMED) {
      buf_text(writer->out, ", …");
      return;
    }
    buf_text(writer->out, count > 0 ? ", " : "");
    buf_append(writer->out, name, length);
    named[count].name = name;
    named[count++].length = length;
  }
}

/* All but the last one of a run of library frames become one line. */
static size_t write_library(struct writer *writer, size_t from) {
  const struct chain_link *link = writer->link;
  size_t to = from;
  while (to < link->count && link->frames[to].kind == FRAME_LIBRARY)
    to++;
  if (to - from > 1) {
    buf_format(writer->out, "  … %zu frame%s in ", to - from - 1,
               to - from > 2 ? "s" : "");
    write_packages(writer, from, to - 1);
    buf_text(writer->out, " …\n");
  }
  const struct frame *last = &link->frames[to - 1];
  buf_text(writer->out, "  ");
  write_place(last, writer->out);
  if (last->text != NULL)
    write_text(last->text, strlen(last->text), writer->out);
  buf_byte(writer->out, '\n');
  return to;
}

/* How often the `length` frames from `from` on stand one behind the other. */
static size_t count_repeats(const struct chain_link *link, size_t from,
                            size_t length) {
  size_t at = from + length;
  while (at < link->count &&
         is_same_place(&link->frames[at], &link->frames[at - length]))
    at++;
  return (at - from) / length;
}

/* Writes one round of a recursion and how often it came again; returns the
 * index behind it, `from` when there is none. */
static size_t write_cycle(struct writer *writer, size_t from) {
  const struct chain_link *link = writer->link;
  for (size_t length = 1; length <= LONGEST_CYCLE; length++) {
    size_t repeats =
        from + length <= link->count ? count_repeats(link, from, length) : 0;
    if (repeats < LEAST_REPEATS)
      continue;
    for (size_t i = 0; i < length; i++)
      write_frame(writer, from + i);
    if (length == 1)
      buf_text(writer->out, "  … the frame above");
    else
      buf_format(writer->out, "  … the %zu frames above", length);
    buf_format(writer->out, " %zu times more …\n", repeats - 1);
    return from + length * repeats;
  }
  return from;
}

/* The kernel's own frames in front of the user's code say nothing. */
static size_t first_frame(const struct chain_link *link) {
  size_t i = 0;
  while (i < link->count && link->frames[i].kind == FRAME_LIBRARY &&
         (is_package(&link->frames[i], "IPython") ||
          is_package(&link->frames[i], "ipykernel")))
    i++;
  return i < link->count ? i : 0;
}

/* Writes what stands at index `i`; returns the index behind it. */
static size_t write_step(struct writer *writer, size_t i) {
  const struct frame *frame = &writer->link->frames[i];
  if (frame->kind == FRAME_SKIPPED) {
    buf_text(writer->out, "  … similar frames: ");
    write_limited(frame->function, writer->out);
    buf_text(writer->out, " …\n");
    return i + 1;
  }
  size_t next = write_cycle(writer, i);
  if (next > i)
    return next;
  if (frame->kind == FRAME_LIBRARY)
    return write_library(writer, i);
  write_frame(writer, i);
  return i + 1;
}

/* The middle of a stack that no cycle shortens is left out. */
static void write_frames(struct writer *writer) {
  const struct chain_link *link = writer->link;
  size_t i = first_frame(link), steps = 0;
  while (i < link->count) {
    if (steps++ == FIRST_STEPS && link->count - i > LAST_FRAMES) {
      buf_format(writer->out, "  … %zu frames …\n",
                 link->count - i - LAST_FRAMES);
      i = link->count - LAST_FRAMES;
    }
    i = write_step(writer, i);
  }
}

void chain_write_name(const struct chain_link *link, struct buf *out) {
  /* An exception that could not be written has its class in the heading. */
  bool is_written = link->message && link->message[0] != '<';
  const char *name = is_written   ? link->message
                     : link->name ? link->name
                                  : "an exception";
  characters_append_line(name, strlen(name), CAUSE_LIMIT, out);
}

/* "Raised while handling KeyError: 'k' (Cell In[1], line 3, in load)" */
static void write_cause(struct chain_link *link, struct buf *out) {
  const struct chain one = {link, 1};
  const struct chain_link *holder;
  const struct frame *frame = chain_deepest(&one, &holder);
  buf_text(out, link->reason == CHAIN_CAUSE ? "The direct cause was "
                                            : "Raised while handling ");
  chain_write_name(link, out);
  if (frame != NULL) {
    buf_text(out, " (");
    write_place(frame, out);
    buf_text(out, ")");
  }
  buf_byte(out, '\n');
}

void chain_write(const struct chain *chain, const struct code *code,
                 bool with_source, const char *heading, struct buf *out) {
  size_t causes = chain->count;
  const struct chain_link *last = causes > 0 ? &chain->links[--causes] : NULL;
  if (last != NULL && last->count > 0) {
    struct writer writer = {last, code, with_source, out};
    buf_text(out, "Traceback (most recent call last):\n");
    write_frames(&writer);
  }
  buf_format(out, "%s\n", heading);
  if (last != NULL && last->notes.length > 0)
    buf_format(out, "%s\n", buf_string(&last->notes));
  while (causes > 0)
    write_cause(&chain->links[--causes], out);
}
