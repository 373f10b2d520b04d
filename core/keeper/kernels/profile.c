#include "core/keeper/kernels/profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/keeper/kernels/environment.h"

#define MOST_THREADS 4 /* of numeric libraries: many kernels share a host */

struct profile_places profile_places(const struct keeper *keeper,
                                     const char *home, const char *directory) {
  if (jail_host_has(keeper->jails, JAIL_MOUNT))
    return (struct profile_places){JAIL_WORKSPACE, JAIL_PRIVATE, NULL};
  return (struct profile_places){home, directory, directory};
}

char **profile_environment(const struct keeper *keeper,
                           const struct kernelspec *spec,
                           const struct kernel_limits *limits,
                           const struct profile_places *places,
                           const struct json *task) {
  bool inside = jail_host_has(keeper->jails, JAIL_MOUNT);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const struct environment_order order = {
      .home = places->home,
      .user = inside ? JAIL_USER_NAME : keeper->places.user,
      .private_directory = places->private,
      .temporary_directory = places->temporary,
      .threads = kernel_limits_threads(limits, (int)processors, MOST_THREADS),
      .kernelspec = spec->env,
      .configured = keeper->conf->environment,
      .task = task,
  };
  return environment_build(&order);
}

static bool is_ipykernel(char *const *argv) {
  for (; argv[0] != NULL && argv[1] != NULL; argv++)
    if (strcmp(argv[0], "-m") == 0 &&
        (strcmp(argv[1], "ipykernel_launcher") == 0 ||
         strcmp(argv[1], "ipykernel") == 0))
      return true;
  return false;
}

char **profile_arguments(const struct kernelspec *spec,
                         const char *connection_file) {
  char **argv = kernelspec_expand_argv(spec, connection_file);
  if (argv == NULL || !is_ipykernel(argv))
    return argv;
  size_t count = 0;
  while (argv[count] != NULL)
    count++;
  argv = mem_grow(argv, count + 2, sizeof *argv);
  argv[count] = mem_copy_text("--HistoryManager.enabled=False");
  argv[count + 1] = NULL;
  return argv;
}

static bool is_python(const char *program) {
  const char *slash = strrchr(program, '/');
  const char *name = slash == NULL ? program : slash + 1;
  return strncmp(name, "python", strlen("python")) == 0;
}

bool profile_isolate(const char *script, const char *nowhere, char **argv,
                     char ***environment) {
  size_t place = 1;
  if (argv[0] == NULL || !is_python(argv[0]))
    return false;
  while (argv[place] != NULL && strcmp(argv[place], "-m") != 0) {
    bool has_value =
        strcmp(argv[place], "-X") == 0 || strcmp(argv[place], "-W") == 0;
    if (argv[place][0] != '-' || strcmp(argv[place], "-c") == 0 ||
        (has_value && argv[place + 1] == NULL))
      return false;
    place += has_value ? 2 : 1;
  }
  if (argv[place] == NULL || argv[place + 1] == NULL)
    return false;
  free(argv[place]);
  argv[place] = mem_copy_text(script);
  CLEANUP(mem_free_pointer)
  char *base = mem_format("%s/cellpost-none", nowhere);
  environment_add(environment, "PYTHONUSERBASE", base);
  return true;
}

int64_t profile_memory_limit(const struct keeper *keeper, int64_t memory) {
  return jail_host_has(keeper->jails, JAIL_LIMIT_MEMORY) ? memory : 0;
}
