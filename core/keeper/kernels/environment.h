/* The environment of a kernel, made from nothing: no variable of the keeper's
 * own gets in. Pure. */
#ifndef CELLPOST_KEEPER_KERNELS_ENVIRONMENT_H
#define CELLPOST_KEEPER_KERNELS_ENVIRONMENT_H

#include "core/json/json.h"

/* A kernel's PATH unless somebody sets another. */
#define ENVIRONMENT_PATH "/usr/local/bin:/usr/bin:/bin"

/* Later ones win: what we set, the kernelspec's env, the configuration's, the
 * task's. In the kernelspec's values ${NAME} is replaced by what is set so far
 * (an unknown one is left as it is). Objects hold strings; a name that is none
 * ([A-Za-z_][A-Za-z0-9_]*) or a value that is no text without NUL is left out.
 */
struct environment_order {
  const char *home;                /* the task's files */
  const char *user;                /* its name */
  const char *private_directory;   /* of this kernel life: settings and caches
                                      that must not be seen among the files */
  const char *temporary_directory; /* likewise: TMPDIR; NULL: none is named */
  int threads;                     /* for numeric libraries */
  const struct json *kernelspec;   /* object or NULL */
  const char *configured;          /* NAME=value pairs, spaces between */
  const struct json *task;         /* object or NULL */
};

/* NULL-terminated "NAME=value" texts; environment_free. */
char **environment_build(const struct environment_order *order);
/* Adds a variable, unless there is one of that name. */
void environment_add(char ***environment, const char *name, const char *value);
void environment_free(char **environment);
void environment_done(char ***environment); /* cleanup form */

#endif
