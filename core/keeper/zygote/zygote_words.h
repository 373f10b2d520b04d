/* What a zygote writes on stdout and stderr, put into the log line by line. */
#ifndef CELLPOST_KEEPER_ZYGOTE_ZYGOTE_WORDS_H
#define CELLPOST_KEEPER_ZYGOTE_ZYGOTE_WORDS_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/keeper/kernels/loop.h"

struct zygote_words {
  struct loop *loop;
  struct loop_source source;
  const char *name; /* the zygote's; borrowed */
  struct buf line;  /* not whole yet */
};

/* `descriptor` (not blocking) is taken over. */
int zygote_words_open(struct zygote_words *words, struct loop *loop,
                      const char *name, int descriptor, struct err *err);
/* Logs what has come. */
void zygote_words_take(struct zygote_words *words);
void zygote_words_close(struct zygote_words *words);

#endif
