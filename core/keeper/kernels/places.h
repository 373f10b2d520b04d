/* The directories of core/base/layout.h, made and opened, and who owns them.
 *
 * When the keeper is root, what app and kernels write belongs to the configured
 * user, and what only the keeper may change belongs to root. A run directory
 * made here is sticky and writable for that user's group, so that the app can
 * put its socket there but cannot rename ours. */
#ifndef CELLPOST_KEEPER_KERNELS_PLACES_H
#define CELLPOST_KEEPER_KERNELS_PLACES_H

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/jail/jail.h"

struct places {
  struct jail jail; /* who app and kernels are */
  char user[256];   /* that user's name */
  char *run;        /* absolute */
  char *state;
  char *socket;   /* path of keeper.sock */
  char *database; /* path of cellpost.db */
  int run_fd;
  int kernels, shims, turns, tasks, spares; /* open directories */
  int lock;                                 /* keeper.lock, held */
};

/* Finds out the user, makes what is missing and takes the lock. ERR_CONFLICT:
 * another keeper holds it. */
int places_open(const struct conf *conf, struct places *ret, struct err *err);
void places_close(struct places *places);

/* Makes and opens a directory `name` in `parent` for the configured user. */
int places_make_owned(const struct places *places, int parent, const char *name,
                      mode_t mode, struct err *err);

/* Gives an open file or directory to the configured user; nothing to do when
 * the keeper is not root. */
int places_give_away(const struct places *places, int descriptor,
                     struct err *err);

/* Takes a task's turn without waiting (core/control/task_lock.h): a descriptor
 * that holds it until it is closed, or -1. */
int places_try_turn(const struct places *places, const char *task);

#endif
