#include "core/keeper/zygote/zygote_words.h"

#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"

#define LINE ((size_t)2 << 10) /* a longer one is cut */

static void say(struct zygote_words *words, const char *end) {
  struct buf *line = &words->line;
  size_t length = (size_t)(end - line->data);
  if (length > 0)
    log_info("zygote %s: %.*s", words->name, (int)length, line->data);
  length += length < line->length;
  memmove(line->data, line->data + length, line->length - length);
  buf_truncate(line, line->length - length);
}

static void say_lines(struct zygote_words *words) {
  const char *end;
  while (words->line.length > 0 &&
         (end = memchr(words->line.data, '\n', words->line.length)) != NULL)
    say(words, end);
  if (words->line.length >= LINE)
    say(words, words->line.data + words->line.length);
}

void zygote_words_take(struct zygote_words *words) {
  char text[LINE / 2];
  while (words->source.descriptor >= 0) {
    ssize_t got = read(words->source.descriptor, text, sizeof text);
    if (got < 0)
      return;
    if (got == 0)
      loop_remove(words->loop, &words->source);
    buf_append(&words->line, text, (size_t)got);
    say_lines(words);
  }
}

static void on_words(void *context) { zygote_words_take(context); }

int zygote_words_open(struct zygote_words *words, struct loop *loop,
                      const char *name, int descriptor, struct err *err) {
  *words = (struct zygote_words){.loop = loop,
                                 .source = {descriptor, on_words, words},
                                 .name = name,
                                 .line = BUF_INIT(2 * LINE)};
  if (loop_add(loop, &words->source, err) >= 0)
    return 0;
  mem_close_descriptor(&words->source.descriptor);
  return -1;
}

void zygote_words_close(struct zygote_words *words) {
  if (words->source.descriptor >= 0)
    loop_remove(words->loop, &words->source);
  buf_free(&words->line);
}
