/* What a kernel gets from its kernelspec and the configuration, before anything
 * that belongs to one task. */
#ifndef CELLPOST_KEEPER_PROFILE_H
#define CELLPOST_KEEPER_PROFILE_H

#include "core/jail/jail_limits.h"
#include "core/jupyter/kernelspec.h"
#include "core/keeper/keeper.h"

/* What differs from kernel to kernel when it has no root of its own. */
struct profile_places {
  const char *home;      /* the task's files */
  const char *private;   /* settings and caches */
  const char *temporary; /* NULL: /tmp, which is its own */
};

/* Where a kernel finds those: inside its jail when there is a root of its own,
 * else as given. */
struct profile_places profile_places(const struct keeper *keeper,
                                     const char *home, const char *directory);

/* environment_free. `task`: the variables of one task, or NULL. */
char **profile_environment(const struct keeper *keeper,
                           const struct kernelspec *spec,
                           const struct jail_limits *limits,
                           const struct profile_places *places,
                           const struct json *task);

#endif
