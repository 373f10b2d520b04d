/* The end of groups: nothing in them may be left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/cgroup/cgroup.h"
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

#define SWEEP_LIMIT_MS 2000

/* Sends SIGKILL to all in one directory's list; how many there were. */
static int kill_listed(const char *directory) {
  CLEANUP(buf_free) struct buf list = BUF_INIT(4 * BUF_SMALL);
  CLEANUP(mem_close_descriptor)
  int file = cgroup_file_open(directory, "cgroup.procs", O_RDONLY);
  if (file < 0 || fs_read_all(file, &list, NULL) < 0)
    return 0;
  int count = 0;
  char *next = NULL;
  for (const char *line = buf_string(&list); *line != '\0'; line = next) {
    long pid = strtol(line, &next, 10);
    if (next == line)
      break;
    if (pid > 0 && kill((pid_t)pid, SIGKILL) == 0)
      count++;
    next += *next == '\n';
  }
  return count;
}

static int kill_round(const struct cgroup *group) {
  int count = 0;
  cgroup_backend_of(group)->freeze(group, true);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (group->directories[i] != NULL && !cgroup_is_repeated(group, i))
      count += kill_listed(group->directories[i]);
  cgroup_backend_of(group)->freeze(group, false);
  return count;
}

int cgroup_count(const struct cgroup *group) {
  int most = 0;
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    char text[8192];
    int count = 0;
    if (group->directories[i] == NULL || cgroup_is_repeated(group, i) ||
        cgroup_file_read(group->directories[i], "cgroup.procs", text,
                         sizeof text) < 0)
      continue;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
      count++;
    most = count > most ? count : most;
  }
  return most;
}

int cgroup_kill(const struct cgroup *group, int limit_ms) {
  if (group->version == 0)
    return 0;
  int64_t end = clock_monotonic_ns() + limit_ms * CLOCK_MS;
  int left = cgroup_count(group);
  for (int wait_ms = 1; left > 0; wait_ms = wait_ms < 50 ? wait_ms * 2 : 50) {
    kill_round(group);
    left = cgroup_count(group);
    if (left == 0 || clock_monotonic_ns() >= end)
      break;
    poll(NULL, 0, wait_ms);
    left = cgroup_count(group);
  }
  return left;
}

static int remove_directory(const char *directory, int64_t end) {
  while (rmdir(directory) < 0) {
    if (errno == ENOENT)
      return 0;
    if (errno != EBUSY || clock_monotonic_ns() >= end)
      return -1;
    poll(NULL, 0, 1);
  }
  return 0;
}

int cgroup_remove(const struct cgroup *group, int limit_ms, struct err *err) {
  int64_t end = clock_monotonic_ns() + limit_ms * CLOCK_MS;
  int result = 0;
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (group->directories[i] != NULL &&
        remove_directory(group->directories[i], end) < 0 && result == 0)
      result =
          err_errno(err, ERR_IO, errno, "cannot remove the control group %s",
                    group->directories[i]);
  return result;
}

static void sweep_directory(struct cgroup_host *host, const char *directory,
                            bool (*known)(void *context, const char *name),
                            void *context) {
  DIR *listing = opendir(directory);
  if (listing == NULL)
    return;
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
        known(context, entry->d_name))
      continue;
    CLEANUP(cgroup_done)
    struct cgroup *group = cgroup_child(&host->instance, entry->d_name);
    cgroup_kill(group, SWEEP_LIMIT_MS);
    cgroup_remove(group, SWEEP_LIMIT_MS, NULL);
  }
  closedir(listing);
}

void cgroup_sweep(struct cgroup_host *host,
                  bool (*known)(void *context, const char *name),
                  void *context) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (host->instance.directories[i] != NULL &&
        !cgroup_is_repeated(&host->instance, i))
      sweep_directory(host, host->instance.directories[i], known, context);
}
