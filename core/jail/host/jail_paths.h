/* What a kernel must be able to read beyond the system's own programs: its
 * program, the environment that holds it, its kernelspec. */
#ifndef CELLPOST_JAIL_HOST_JAIL_PATHS_H
#define CELLPOST_JAIL_HOST_JAIL_PATHS_H

#include <stdbool.h>

#include "core/base/err.h"

struct jail_paths_order {
  char *const *argv;         /* as it will be run */
  const char *kernelspec;    /* its directory, or NULL */
  const char *configured;    /* absolute paths, colons between, or NULL */
  const char *const *hidden; /* what must stay invisible; NULL-terminated */
};

/* A list for struct jail, NULL-terminated, without repetitions; the caller's.
 * argv[0] brings along the directory above its bin/ (a virtual environment, a
 * conda installation), and so does every program that it is a link to, and the
 * one that pyvenv.cfg names. Other arguments that are absolute paths of
 * existing files are shown alone. What is in /usr, /bin, /lib … is there
 * anyway. ERR_UNAVAILABLE: a directory that would have to be shown holds one
 * that must not be. */
int jail_paths_collect(const struct jail_paths_order *order, char ***ret,
                       struct err *err);
void jail_paths_free(char **paths);

/* True when `path` is `directory` or beneath it. Pure. */
bool jail_paths_is_beneath(const char *path, const char *directory);

#endif
