#include "core/keeper/launch/shadow.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

static bool holds(int files, const char *path) {
  CLEANUP(mem_close_descriptor)
  int found = fs_open_beneath(files, path, O_PATH, 0, NULL);
  return found >= 0;
}

/* A directory of that name alone is none: without the file it comes last. */
static bool holds_module(int files, const char *name, size_t length) {
  CLEANUP(mem_free_pointer)
  char *file = mem_format("%.*s.py", (int)length, name);
  CLEANUP(mem_free_pointer)
  char *package = mem_format("%.*s/__init__.py", (int)length, name);
  return holds(files, file) || holds(files, package);
}

bool shadow_any(int files, const char *modules) {
  if (files < 0)
    return false;
  if (holds(files, ".local/lib"))
    return true;
  for (modules += strspn(modules, " \t"); *modules != '\0';
       modules += strspn(modules, " \t")) {
    if (holds_module(files, modules, strcspn(modules, ". \t")))
      return true;
    modules += strcspn(modules, " \t");
  }
  return false;
}
