#include "core/process/strays.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/process/process.h"

#define ROUNDS 50
#define ROUND_MS 5

struct search {
  const char *wanted;
  int found;
};

/* By the environment that a program was started with; a zombie's is empty. */
static void kill_if_stray(int proc, pid_t pid, void *context) {
  struct search *search = context;
  char path[32];
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  snprintf(path, sizeof path, "%d/environ", (int)pid);
  CLEANUP(mem_close_descriptor)
  int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (pid == getpid() || file < 0 || fs_read_all(file, &text, NULL) < 0 ||
      text.length == 0 ||
      memmem(text.data, text.length, search->wanted, strlen(search->wanted)) ==
          NULL)
    return;
  kill(pid, SIGKILL);
  search->found++;
}

int strays_kill(const char *kernel_directory) {
  CLEANUP(mem_free_pointer) char *wanted = mem_format("%s/", kernel_directory);
  struct search search = {wanted, 0};
  process_each(kill_if_stray, &search);
  for (int round = 0; search.found != 0 && round < ROUNDS; round++) {
    poll(NULL, 0, ROUND_MS);
    search.found = 0;
    process_each(kill_if_stray, &search);
  }
  return search.found;
}
