#include "core/keeper/profile.h"

#include <unistd.h>

#include "core/keeper/environment.h"

#define MOST_THREADS 4 /* of numeric libraries: many kernels share a host */

struct profile_places profile_places(const struct keeper *keeper,
                                     const char *home, const char *directory) {
  if (jail_host_has(keeper->jails, JAIL_MOUNT))
    return (struct profile_places){JAIL_WORKSPACE, JAIL_PRIVATE, NULL};
  return (struct profile_places){home, directory, directory};
}

char **profile_environment(const struct keeper *keeper,
                           const struct kernelspec *spec,
                           const struct jail_limits *limits,
                           const struct profile_places *places,
                           const struct json *task) {
  bool inside = jail_host_has(keeper->jails, JAIL_MOUNT);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const struct environment_order order = {
      .home = places->home,
      .user = inside ? JAIL_USER_NAME : keeper->places.user,
      .private_directory = places->private,
      .temporary_directory = places->temporary,
      .threads = jail_limits_threads(limits, (int)processors, MOST_THREADS),
      .kernelspec = spec->env,
      .configured = keeper->conf->environment,
      .task = task,
  };
  return environment_build(&order);
}
