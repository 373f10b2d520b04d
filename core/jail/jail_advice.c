#include "core/jail/jail_advice.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

/* Debian and Arch have the first, Red Hat sets the second, Ubuntu has the
 * third. */
static const struct {
  const char *file, *name;
  long forbids;
  const char *instead;
} switches[] = {
    {"kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0,
     "1"},
    {"user/max_user_namespaces", "user.max_user_namespaces", 0, "10000"},
    {"kernel/apparmor_restrict_unprivileged_userns",
     "kernel.apparmor_restrict_unprivileged_userns", 1, "0"},
};

static bool is_set(int settings, const char *file, long value) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  char *end = NULL;
  if (fs_read_file(settings, file, &text, NULL) != 0)
    return false;
  long found = strtol(buf_string(&text), &end, 10);
  return end != buf_string(&text) && found == value;
}

void jail_advice_user(const char *settings, char *ret, size_t size) {
  CLEANUP(mem_close_descriptor)
  int directory = open(settings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t i = 0; directory >= 0 && i < COUNT_OF(switches); i++)
    if (is_set(directory, switches[i].file, switches[i].forbids)) {
      snprintf(ret, size, "%s is %ld: set it to %s, or run the keeper as root",
               switches[i].name, switches[i].forbids, switches[i].instead);
      return;
    }
  snprintf(ret, size,
           "this host or container forbids them: run the keeper as root");
}
