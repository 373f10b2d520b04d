/* Version 1: one hierarchy for each controller. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/cgroup/cgroup.h"
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

#define FREEZE_LIMIT_MS 100

static void prepare(struct cgroup_host *host, const char *name) {
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    const char *base = host->base.directories[i];
    if (base == NULL)
      continue;
    mkdir(base, 0755); /* a configured one may be new */
    char *directory = mem_format("%s/%s", base, name);
    if (mkdir(directory, 0755) < 0 && errno != EEXIST)
      cgroup_give_up(host, (enum cgroup_controller)i,
                     "no control group can be made in %s: %s", base,
                     strerror(errno));
    host->instance.directories[i] = directory;
  }
}

/* Memory and swap together may not be less than memory alone, so they come
 * after it. Where swap is not counted, nothing of it is used. */
static int limit_memory(const char *directory, int64_t bytes) {
  if (cgroup_file_write_number(directory, "memory.limit_in_bytes", bytes) < 0)
    return -1;
  cgroup_file_write_number(directory, "memory.swappiness", 0);
  if (cgroup_file_write_number(directory, "memory.memsw.limit_in_bytes",
                               bytes) < 0)
    return errno == ENOENT ? 0 : -1;
  return 0;
}

static int limit_cpu(const char *directory, int64_t quota_us) {
  if (cgroup_file_write_number(directory, "cpu.cfs_period_us",
                               CGROUP_CPU_PERIOD_US) < 0)
    return -1;
  return cgroup_file_write_number(directory, "cpu.cfs_quota_us", quota_us);
}

/* The registration lives as long as the eventfd. */
static struct cgroup_watch watch(const struct cgroup *group, int64_t soft) {
  struct cgroup_watch none = {-1, 0};
  const char *directory = group->directories[CGROUP_MEMORY];
  if (directory == NULL)
    return none;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/memory.usage_in_bytes", directory);
  CLEANUP(mem_close_descriptor) int usage = open(path, O_RDONLY | O_CLOEXEC);
  CLEANUP(mem_close_descriptor)
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (usage < 0 || event < 0)
    return none;
  char text[64];
  snprintf(text, sizeof text, "%d %d %lld", event, usage, (long long)soft / 2);
  if (cgroup_file_write(directory, "cgroup.event_control", text) < 0)
    return none;
  return (struct cgroup_watch){mem_steal_descriptor(&event), POLLIN};
}

/* Freezing takes effect some time after it was asked for. */
static void freeze(const struct cgroup *group, bool frozen) {
  const char *directory = group->directories[CGROUP_FREEZER];
  const char *wanted = frozen ? "FROZEN" : "THAWED";
  if (directory == NULL ||
      cgroup_file_write(directory, "freezer.state", wanted) < 0)
    return;
  int64_t end = clock_monotonic_ns() + FREEZE_LIMIT_MS * CLOCK_MS;
  char state[32] = "";
  while (
      cgroup_file_read(directory, "freezer.state", state, sizeof state) == 0 &&
      strncmp(state, wanted, strlen(wanted)) != 0 && clock_monotonic_ns() < end)
    poll(NULL, 0, 1);
}

const struct cgroup_backend cgroup_version_1 = {
    .cpu_file = "cpuacct.usage",
    .cpu_unit = 1000,
    .memory_file = "memory.usage_in_bytes",
    .peak_file = "memory.max_usage_in_bytes",
    .limit_file = "memory.limit_in_bytes",
    .anonymous_key = "total_rss",
    .shared_key = "total_shmem",
    .oom_file = "memory.oom_control",
    .prepare = prepare,
    .limit_memory = limit_memory,
    .limit_cpu = limit_cpu,
    .watch = watch,
    .freeze = freeze,
};
