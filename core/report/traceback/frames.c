#include "core/report/traceback/frames.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define MOST_LINKS 64
#define MOST_FRAMES 8192
#define MOST_LINES 64

static void frame_clear(struct frame *frame) {
  frame_drop_lines(frame);
  free(frame->file);
  free(frame->function);
  free(frame->text);
  *frame = (struct frame){.kind = FRAME_FILE};
}

void frame_drop_lines(struct frame *frame) {
  for (size_t i = 0; i < frame->line_count; i++)
    free(frame->lines[i].text);
  free(frame->lines);
  frame->lines = NULL;
  frame->line_count = 0;
}

static void link_clear(struct link *link) {
  for (size_t i = 0; i < link->count; i++)
    frame_clear(&link->frames[i]);
  free(link->frames);
  free(link->name);
  free(link->message);
  free(link->notes);
  *link = (struct link){0};
}

void chain_free(struct chain *chain) {
  for (size_t i = 0; i < chain->count; i++)
    link_clear(&chain->links[i]);
  free(chain->links);
  *chain = (struct chain){0};
}

struct link *chain_last(struct chain *chain) {
  return chain->count ? &chain->links[chain->count - 1] : NULL;
}

/* A place for one more in an array that grows by doubling; at the cap the last
 * element is cleared and given again. */
#define ADD_ELEMENT(array, count, most, clear)                                 \
  __extension__({                                                              \
    if ((count) == (most)) {                                                   \
      clear(&(array)[(count)-1]);                                              \
    } else {                                                                   \
      if (((count) & ((count)-1)) == 0)                                        \
        (array) = mem_grow((array), (count) ? (count)*2 : 1, sizeof *(array)); \
      (count)++;                                                               \
    }                                                                          \
    &(array)[(count)-1];                                                       \
  })

struct link *chain_add(struct chain *chain) {
  struct link *link =
      ADD_ELEMENT(chain->links, chain->count, MOST_LINKS, link_clear);
  *link = (struct link){.reason = LINK_LAST};
  return link;
}

struct frame *link_add_frame(struct link *link) {
  struct frame *frame =
      ADD_ELEMENT(link->frames, link->count, MOST_FRAMES, frame_clear);
  *frame = (struct frame){.kind = FRAME_FILE};
  return frame;
}

void frame_add_line(struct frame *frame, int64_t number, const char *text,
                    size_t length) {
  if (frame->line_count == MOST_LINES)
    return;
  struct frame_line *line =
      ADD_ELEMENT(frame->lines, frame->line_count, MOST_LINES, (void));
  *line = (struct frame_line){number, mem_copy_bytes(text, length)};
}

const struct frame *chain_deepest(const struct chain *chain,
                                  const struct link **ret) {
  for (size_t i = chain->count; i-- > 0;) {
    const struct link *link = &chain->links[i];
    for (size_t k = link->count; k-- > 0;)
      if (frame_in_cell(&link->frames[k]) && link->frames[k].line > 0) {
        *ret = link;
        return &link->frames[k];
      }
  }
  return NULL;
}

const char *code_line(const char *code, size_t code_length, int64_t number,
                      size_t *length) {
  const char *line = code, *end = code + code_length;
  for (; line != NULL && number > 1; number--) {
    line = memchr(line, '\n', (size_t)(end - line));
    line = line ? line + 1 : NULL;
  }
  if (line == NULL || number < 1)
    return NULL;
  const char *line_end = memchr(line, '\n', (size_t)(end - line));
  *length = (size_t)((line_end ? line_end : end) - line);
  if (*length > 0 && line[*length - 1] == '\r')
    --*length;
  return line;
}
