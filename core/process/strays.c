#include "core/process/strays.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define ROUNDS 50
#define ROUND_MS 5

/* The environment a program was started with; a zombie's is empty. */
static bool environment_names(int proc, const char *pid, const char *wanted) {
  char path[32];
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  snprintf(path, sizeof path, "%.20s/environ", pid);
  CLEANUP(mem_close_descriptor)
  int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fs_read_all(file, &text, NULL) < 0 || text.length == 0)
    return false;
  return memmem(text.data, text.length, wanted, strlen(wanted)) != NULL;
}

static int kill_once(const char *wanted) {
  int count = 0;
  DIR *proc = opendir("/proc");
  if (proc == NULL)
    return 0;
  for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
    if (!isdigit((unsigned char)entry->d_name[0]) ||
        !environment_names(dirfd(proc), entry->d_name, wanted))
      continue;
    pid_t pid = (pid_t)atoi(entry->d_name);
    if (pid == getpid())
      continue;
    kill(pid, SIGKILL);
    count++;
  }
  closedir(proc);
  return count;
}

int strays_kill(const char *kernel_directory) {
  CLEANUP(mem_free_pointer) char *wanted = mem_format("%s/", kernel_directory);
  int left = kill_once(wanted);
  for (int round = 0; left != 0 && round < ROUNDS; round++) {
    poll(NULL, 0, ROUND_MS);
    left = kill_once(wanted);
  }
  return left;
}
