#include <ctype.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/keeper/zygote/zygote.h"

#define PAUSE_LONGEST_S 300

bool zygote_suits(char *const *argv) {
  if (argv[0] == NULL)
    return false;
  const char *slash = strrchr(argv[0], '/');
  const char *name = slash == NULL ? argv[0] : slash + 1;
  if (strncmp(name, "python", strlen("python")) != 0)
    return false;
  argv++;
  if (*argv != NULL && strcmp(*argv, "-Xfrozen_modules=off") == 0)
    argv++;
  return argv[0] != NULL && strcmp(argv[0], "-m") == 0 && argv[1] != NULL &&
         strcmp(argv[1], "ipykernel_launcher") == 0;
}

/* Read by the interpreter, the linker, the C library, numeric libraries. */
static const char *const early[] = {
    "PYTHON",     "LD_",  "GLIBC_",       "MALLOC_", "LANG",
    "LC_",        "TZ",   "OMP_",         "GOMP_",   "OPENBLAS_",
    "GOTO_",      "MKL_", "BLIS_",        "NUMEXPR", "VIRTUAL_ENV",
    "MPLBACKEND", "NPY_", "MATPLOTLIBRC", "IPYTHON_"};

static bool begins(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* Variables of a library begin with its name: TORCH_…, SKLEARN_…. */
static bool is_of_library(const char *variable, const char *preload) {
  for (preload += strspn(preload, " \t"); *preload != '\0';
       preload += strspn(preload, " \t")) {
    size_t length = strcspn(preload, " \t"), top = strcspn(preload, ". \t");
    size_t i = 0;
    while (i < top && toupper((unsigned char)preload[i]) == variable[i])
      i++;
    if (i == top && variable[i] == '_')
      return true;
    preload += length;
  }
  return false;
}

static bool is_early(const char *variable, const char *preload) {
  for (size_t i = 0; i < COUNT_OF(early); i++)
    if (begins(variable, early[i]))
      return true;
  return is_of_library(variable, preload);
}

static bool has(char *const *environment, const char *entry) {
  for (; *environment != NULL; environment++)
    if (strcmp(*environment, entry) == 0)
      return true;
  return false;
}

static bool agrees_with(char *const *one, char *const *other,
                        const char *preload) {
  for (; *one != NULL; one++)
    if (is_early(*one, preload) && !has(other, *one))
      return false;
  return true;
}

bool zygote_agrees(char *const *one, char *const *other, const char *preload) {
  return agrees_with(one, other, preload) && agrees_with(other, one, preload);
}

int64_t zygote_pause_ns(unsigned failures) {
  int64_t pause = failures > 8 ? PAUSE_LONGEST_S : 1L << failures;
  return (pause > PAUSE_LONGEST_S ? PAUSE_LONGEST_S : pause) * CLOCK_S;
}
