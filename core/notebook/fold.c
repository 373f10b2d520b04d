#include "core/notebook/fold.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "core/base/mem.h"

struct line {
  size_t count, written;
  UT_hash_handle hh;
  char text[];
};

struct fold {
  struct line *lines;
  bool needed;
};

struct fold *fold_new(void) {
  return mem_new(sizeof(struct fold));
}

void fold_done(struct fold **fold) {
  struct line *line, *next;
  if (*fold == NULL)
    return;
  HASH_ITER(hh, (*fold)->lines, line, next) {
    HASH_DEL((*fold)->lines, line); /* NOLINT: the analyzer loses track */
    free(line);
  }
  free(*fold);
  *fold = NULL;
}

/* The bytes of the first line with its end; 0 when it has none. */
static size_t whole_line(const char *text, size_t length) {
  const char *end = memchr(text, '\n', length);
  return end == NULL ? 0 : (size_t)(end - text) + 1;
}

static struct line *find(const struct fold *fold, const char *text,
                         size_t length) {
  struct line *line = NULL;
  HASH_FIND(hh, fold->lines, text, length, line); /* NOLINT: as above */
  return line;
}

static bool is_blank(const char *text, size_t length) {
  size_t i = 0;
  while (i < length && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n'))
    i++;
  return i == length;
}

void fold_count(struct fold *fold, const char *text, size_t length) {
  const char *end = text + length;
  for (size_t size; (size = whole_line(text, (size_t)(end - text))) > 0;
       text += size) {
    if (is_blank(text, size))
      continue;
    struct line *line = find(fold, text, size);
    if (line == NULL) {
      line = mem_new(sizeof *line + size);
      memcpy(line->text, text, size);
      HASH_ADD(hh, fold->lines, text, size, line);
    }
    fold->needed |= ++line->count > FOLD_FROM;
  }
}

bool fold_is_needed(const struct fold *fold) { return fold->needed; }

static void write_line(struct line *line, const char *text, size_t size,
                       struct buf *out) {
  if (line == NULL || line->count <= FOLD_FROM) {
    buf_append(out, text, size);
    return;
  }
  line->written++;
  if (line->written <= FOLD_SHOWN)
    buf_append(out, text, size);
  if (line->written == FOLD_SHOWN)
    buf_format(out, "[… the line above comes %zu more times …]\n",
               line->count - FOLD_SHOWN);
}

int fold_write(struct fold *fold, const char *text, size_t length,
               struct buf *out) {
  const char *end = text + length;
  for (size_t size; (size = whole_line(text, (size_t)(end - text))) > 0;
       text += size)
    write_line(is_blank(text, size) ? NULL : find(fold, text, size), text, size,
               out);
  return buf_append(out, text, (size_t)(end - text));
}
