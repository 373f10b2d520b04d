/* What zygote.c keeps of one zygote. */
#ifndef CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PRIVATE_H
#define CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PRIVATE_H

#include "core/base/buf.h"
#include "core/keeper/loop.h"
#include "core/keeper/zygote/zygote.h"

#define ZYGOTE_LINE ((size_t)2 << 10)

enum zygote_state {
  ZYGOTE_REFUSED,  /* there will be none */
  ZYGOTE_STARTING, /* until `due` */
  ZYGOTE_READY,
  ZYGOTE_FAILED,  /* until `due`, then started again */
  ZYGOTE_LEAVING, /* replaced; killed at `due` */
};

/* A place that modules come from, and when it had changed last. */
struct zygote_stamp {
  char *path;
  int64_t modified_ns;
};

struct zygote {
  struct zygote *next;
  struct keeper *keeper;
  char *name;         /* the kernelspec's */
  char *note;         /* why it is refused or has failed; or NULL */
  char **program;     /* the interpreter and its options */
  char *arguments;    /* of its kernels, as zygote.py wants them */
  char **environment; /* its own */
  enum zygote_state state;
  int64_t number; /* while it is ready; else 0 */
  pid_t pid;
  struct loop_source end, channel, words;
  struct buf line; /* of its words, not whole yet */
  struct zygote_stamp *stamps;
  size_t stamp_count;
  int64_t started_at, ready_at, due; /* monotonic */
  unsigned failures;                 /* in a row */
};

/* It does not live any more, or shall not; it is started again later. */
void zygote_fail(struct zygote *zygote, const char *why);
void zygote_note(struct zygote *zygote, const char *note);

/* Takes what it tells of its packages; the first of them that has changed since
 * it began, or NULL. ERR_PROTOCOL, ERR_INVALID. */
int zygote_read_packages(struct zygote *zygote, const char *text, size_t length,
                         struct err *err);
const char *zygote_changed_package(const struct zygote *zygote);
void zygote_clear_packages(struct zygote *zygote);

#endif
